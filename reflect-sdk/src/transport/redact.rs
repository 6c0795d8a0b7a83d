//! What may be shown of a reply that went wrong.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};

/// How much of a body is shown.
const LENGTH: usize = 200;
/// A shorter secret is no secret, and blotting it out would garble the text.
const SHORTEST: usize = 6;

/// Blots out keys: everything that looks like one, and the secrets a request was sent with, which
/// a proxy or a debugging server may send back.
#[derive(Clone, Default)]
pub(super) struct Redact(Vec<SecretString>);

impl Redact {
    /// Also this one from now on.
    pub(super) fn and(mut self, secret: &SecretString) -> Self {
        let text = secret.expose_secret().trim();
        if text.len() >= SHORTEST {
            self.0.push(SecretString::from(text));
        }
        self
    }

    /// How the body begins, on one line.
    pub(super) fn excerpt(&self, body: &[u8]) -> String {
        // More than is shown, so that a key at the end is seen whole before it is cut.
        let head = String::from_utf8_lossy(&body[..body.len().min(LENGTH * 8)]);
        let line = head.split_whitespace().collect::<Vec<_>>().join(" ");
        let clean = self.text(&line);
        match clean.char_indices().nth(LENGTH) {
            Some((end, _)) => format!("{}…", &clean[..end]),
            None if clean.is_empty() => "(nothing)".to_owned(),
            None => clean,
        }
    }

    /// The text without keys.
    pub(super) fn text(&self, text: &str) -> String {
        let secrets = self.0.iter().map(ExposeSecret::expose_secret);
        let clean = secrets.fold(text.to_owned(), |text, secret| text.replace(secret, "***"));
        without_keys(&clean)
    }

    /// Where a redirect leads, without what may be a token in its query.
    pub(super) fn address(&self, location: &str) -> String {
        let end = location.find(['?', '#']).unwrap_or(location.len());
        self.text(&location[..end])
    }
}

impl fmt::Debug for Redact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redact({} secrets)", self.0.len())
    }
}

/// Blots out every `rf_live_…` and `rf_test_…`.
fn without_keys(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = ["rf_live_", "rf_test_"]
        .iter()
        .filter_map(|p| rest.find(p))
        .min()
    {
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
    use super::*;

    #[test]
    fn keys_are_blotted_out_wherever_they_stand() {
        assert_eq!(
            Redact::default()
                .excerpt(br#"{"api_key": "rf_live_abc_secret", "old":"rf_test_x"} rf_live_"#),
            r#"{"api_key": "rf_***", "old":"rf_***"} rf_***"#
        );
    }

    #[test]
    fn the_secrets_of_the_request_are_blotted_out_whatever_they_look_like() {
        let token = SecretString::from(" open sesame\n");
        let redact = Redact::default().and(&token).and(&SecretString::from("a"));
        assert_eq!(
            redact.excerpt(b"you said: open sesame, again"),
            "you said: ***, again"
        );
        assert!(!format!("{redact:?}").contains("sesame"));
    }

    #[test]
    fn an_address_is_shown_without_its_query() {
        let redact = Redact::default();
        assert_eq!(redact.address("https://a.b/c?token=1"), "https://a.b/c");
        assert_eq!(redact.address("/login#x?y"), "/login");
        assert_eq!(redact.address("/plain"), "/plain");
    }

    #[test]
    fn a_long_body_is_cut_between_characters() {
        let (redact, body) = (Redact::default(), "ü".repeat(10_000));
        assert_eq!(redact.excerpt(body.as_bytes()).chars().count(), LENGTH + 1);
        assert_eq!(redact.excerpt(b"  \n "), "(nothing)");
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_can_be_shown(body: Vec<u8>) {
            Redact::default().excerpt(&body);
        }
    }
}
