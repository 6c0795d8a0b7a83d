use std::fmt;

use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

/// How many characters an excerpt shows.
const EXCERPT_CHARS: usize = 200;
/// How much of a body is read for an excerpt, in bytes.
const EXCERPT_BYTES: usize = 16 * 1024;
/// Shorter secrets are not masked: they protect nothing and occur inside ordinary words.
const MIN_SECRET: usize = 4;
/// How the keys of Reflect begin.
const KEY_PREFIXES: [&str; 2] = ["rf_live_", "rf_test_"];

/// Masks secrets in text: Reflect API keys, and the secrets that a request carried, which a proxy or
/// a debugging server may send back.
#[derive(Clone, Default)]
pub struct Redactor(Vec<SecretString>);

impl Redactor {
    /// Also masks this secret, unless it is shorter than four bytes.
    #[must_use]
    pub fn with(mut self, secret: &SecretString) -> Self {
        let text = secret.expose_secret().trim();
        if text.len() >= MIN_SECRET {
            self.0.push(SecretString::from(text));
        }
        self
    }

    /// The text with each secret replaced by `***`.
    pub fn text(&self, text: &str) -> String {
        let secrets = self.0.iter().map(ExposeSecret::expose_secret);
        let masked = secrets.fold(text.to_owned(), |text, secret| text.replace(secret, "***"));
        without_keys(&masked)
    }

    /// The beginning of a body on one line, masked and then cut to 200 characters.
    pub fn excerpt(&self, body: &[u8]) -> String {
        let line = self.text(&one_line(body));
        match line.char_indices().nth(EXCERPT_CHARS) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None if line.is_empty() => "(nothing)".to_owned(),
            None => line,
        }
    }

    /// An address without query and fragment, which may hold a token.
    pub fn address(&self, address: &str) -> String {
        let end = address.find(['?', '#']).unwrap_or(address.len());
        self.text(&address[..end])
    }

    /// The value with every text and key in it masked.
    pub(crate) fn value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(&text)),
            Value::Array(items) => items.into_iter().map(|item| self.value(item)).collect(),
            Value::Object(fields) => {
                let fields = fields.into_iter();
                fields
                    .map(|(name, value)| (self.text(&name), self.value(value)))
                    .collect()
            }
            other => other,
        }
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redactor({} secrets)", self.0.len())
    }
}

fn one_line(body: &[u8]) -> String {
    let head = String::from_utf8_lossy(&body[..body.len().min(EXCERPT_BYTES)]);
    let mut words: Vec<&str> = head.split_whitespace().collect();
    if body.len() > EXCERPT_BYTES && words.len() > 1 {
        // Its end is missing: half a secret would not be recognised.
        words.pop();
    }
    words.join(" ")
}

fn without_keys(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = KEY_PREFIXES.iter().filter_map(|p| rest.find(p)).min() {
        let (before, key) = rest.split_at(start);
        let end = key
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-'))
            .unwrap_or(key.len());
        clean.push_str(before);
        clean.push_str("rf_***");
        rest = &key[end..];
    }
    clean.push_str(rest);
    clean
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_of_reflect_are_masked_wherever_they_stand() {
        assert_eq!(
            Redactor::default()
                .excerpt(br#"{"api_key": "rf_live_abc_secret", "old":"rf_test_x"} rf_live_"#),
            r#"{"api_key": "rf_***", "old":"rf_***"} rf_***"#
        );
    }

    #[test]
    fn the_secrets_of_the_request_are_masked_whatever_they_look_like() {
        let token = SecretString::from(" open sesame\n");
        let redactor = Redactor::default()
            .with(&token)
            .with(&SecretString::from("a"));
        assert_eq!(
            redactor.excerpt(b"you said: open sesame, again"),
            "you said: ***, again"
        );
        assert!(!format!("{redactor:?}").contains("sesame"));
    }

    #[test]
    fn secrets_inside_json_are_masked_after_unescaping() {
        let redactor = Redactor::default().with(&SecretString::from(r#"hu"sh"#));
        let body = br#"{"detail": "not hu\"sh", "hu\"sh": ["hu\"sh", 1]}"#;
        let value = redactor.value(serde_json::from_slice(body).unwrap());
        assert_eq!(value, json!({"detail": "not ***", "***": ["***", 1]}));
    }

    #[test]
    fn an_address_is_shown_without_its_query() {
        let redactor = Redactor::default();
        assert_eq!(redactor.address("https://a.b/c?token=1"), "https://a.b/c");
        assert_eq!(redactor.address("/login#x?y"), "/login");
        assert_eq!(redactor.address("/plain"), "/plain");
    }

    #[test]
    fn a_long_body_is_cut_between_characters() {
        let (redactor, body) = (Redactor::default(), "ü".repeat(10_000));
        let shown = redactor.excerpt(body.as_bytes());
        assert_eq!(shown.chars().count(), EXCERPT_CHARS + 1);
        assert_eq!(redactor.excerpt(b"  \n "), "(nothing)");
    }

    #[test]
    fn a_secret_at_a_cut_is_not_shown_in_part() {
        let redactor = Redactor::default().with(&SecretString::from("hush-hush-hush"));
        let at_the_end = format!("{} hush-hush-hush", "x".repeat(EXCERPT_CHARS - 5));
        assert!(!redactor.excerpt(at_the_end.as_bytes()).contains("hush"));
        let beyond = format!("a{}hush-hush-hush", " ".repeat(EXCERPT_BYTES - 8));
        assert_eq!(redactor.excerpt(beyond.as_bytes()), "a");
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_can_be_shown(body: Vec<u8>) {
            Redactor::default().excerpt(&body);
        }
    }
}
