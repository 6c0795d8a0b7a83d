//! The keys of the attribute.

/// The kind of value that a key takes.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Client,
    Task,
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

/// Each key with its kind and an example.
pub(super) const KEYS: [(&str, Kind, &str); 22] = [
    ("client", Kind::Client, "client = self.client"),
    ("task", Kind::Task, "task = question"),
    ("query", Kind::Query, "query = QueryOptions::default()"),
    ("limit", Kind::Number(1.0, 100.0), "limit = 5"),
    ("lambda", Kind::Number(0.0, 1.0), "lambda = 0.5"),
    ("mmr_lambda", Kind::Number(0.0, 1.0), "mmr_lambda = 0.7"),
    (
        "similarity_threshold",
        Kind::Number(-1.0, 1.0),
        "similarity_threshold = 0.3",
    ),
    (
        "control_share",
        Kind::Number(0.0, 1.0),
        "control_share = 0.1",
    ),
    (
        "metadata_filter",
        Kind::Map,
        r#"metadata_filter = [("customer", "acme")]"#,
    ),
    (
        "metadata",
        Kind::Map,
        r#"metadata = [("customer", "acme")]"#,
    ),
    ("model", Kind::Text, r#"model = "gpt-5.4-mini""#),
    (
        "reference_context",
        Kind::Text,
        "reference_context = POLICY",
    ),
    ("alpha", Kind::Number(0.0, 1.0), "alpha = 0.3"),
    ("until_learned", Kind::UntilLearned, "until_learned = true"),
    ("auto_fail", Kind::AutoFail, "auto_fail = false"),
    ("inject_context", Kind::Flag, "inject_context = false"),
    ("on_cancel", Kind::OnCancel, r#"on_cancel = "skip""#),
    ("strict", Kind::Flag, "strict"),
    ("returns", Kind::Returns, r#"returns = "result""#),
    ("boxed", Kind::Flag, "boxed"),
    ("future", Kind::Flag, "future"),
    ("crate", Kind::Crate, "crate = my_crate::reflect_sdk"),
];

/// The list of keys for an error message.
pub(super) fn all_keys() -> String {
    let names: Vec<_> = KEYS.iter().map(|(name, ..)| format!("`{name}`")).collect();
    names.join(", ")
}
