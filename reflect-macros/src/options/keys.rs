//! The keys of the attribute.

/// The kind of value that a key takes.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Client,
    Task,
    Fold,
    Text,
    Map,
    Query,
    Number(f64, f64),
    AutoFail,
    UntilLearned,
    OnCancel,
    Returns,
    Flag,
    Crate,
}

/// The kind of each key, and an example, which begins with the key.
const KEYS: [(Kind, &str); 25] = [
    (Kind::Client, "client = self.client"),
    (Kind::Task, "task = question"),
    (Kind::Query, "query = QueryOptions::default()"),
    (Kind::Number(1.0, 100.0), "limit = 5"),
    (Kind::Number(0.0, 1.0), "lambda = 0.5"),
    (Kind::Number(0.0, 1.0), "mmr_lambda = 0.7"),
    (Kind::Number(-1.0, 1.0), "similarity_threshold = 0.3"),
    (Kind::Number(0.0, 1.0), "control_share = 0.1"),
    (Kind::Map, r#"metadata_filter = [("customer", "acme")]"#),
    (Kind::Map, r#"metadata = [("customer", "acme")]"#),
    (Kind::Text, r#"model = "gpt-5.4-mini""#),
    (Kind::Text, "session = conversation_id"),
    (Kind::Text, "reference_context = POLICY"),
    (Kind::Number(0.0, 1.0), "alpha = 0.3"),
    (Kind::UntilLearned, "until_learned = true"),
    (
        Kind::AutoFail,
        "auto_fail = |error: &Error| error.is_wrong()",
    ),
    (Kind::Flag, "inject_context = false"),
    (Kind::OnCancel, r#"on_cancel = "skip""#),
    (Kind::Flag, "strict"),
    (Kind::Returns, r#"returns = "result""#),
    (Kind::Flag, "boxed"),
    (Kind::Flag, "future"),
    (Kind::Flag, "stream"),
    (Kind::Fold, "fold = |text, item| text.push_str(&item.delta)"),
    (Kind::Crate, "crate = my_crate::reflect_sdk"),
];

/// Each key with its kind and an example.
pub(super) fn keys() -> impl Iterator<Item = (&'static str, Kind, &'static str)> {
    KEYS.into_iter().map(|(kind, example)| {
        let key = example.split(' ').next().unwrap_or(example);
        (key, kind, example)
    })
}

/// The list of keys for an error message.
pub(super) fn all_keys() -> String {
    let names: Vec<_> = keys().map(|(name, ..)| format!("`{name}`")).collect();
    names.join(", ")
}
