//! What may be shown of a reply that went wrong.

/// How much of a body is shown.
const LENGTH: usize = 200;

/// How the body begins, on one line, with anything that looks like a key blotted out.
pub(super) fn excerpt(body: &[u8]) -> String {
    // More than is shown, so that a key at the end is seen whole before it is cut.
    let head = String::from_utf8_lossy(&body[..body.len().min(LENGTH * 8)]);
    let line = head.split_whitespace().collect::<Vec<_>>().join(" ");
    let clean = without_keys(&line);
    match clean.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{}…", &clean[..end]),
        None if clean.is_empty() => "(nothing)".to_owned(),
        None => clean,
    }
}

/// Blots out every `rf_live_…` and `rf_test_…`.
pub(super) fn without_keys(text: &str) -> String {
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
            excerpt(br#"{"api_key": "rf_live_abc_secret", "old":"rf_test_x"} rf_live_"#),
            r#"{"api_key": "rf_***", "old":"rf_***"} rf_***"#
        );
    }

    #[test]
    fn a_long_body_is_cut_between_characters() {
        let body = "ü".repeat(10_000);
        assert_eq!(excerpt(body.as_bytes()).chars().count(), LENGTH + 1);
        assert_eq!(excerpt(b"  \n "), "(nothing)");
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_can_be_shown(body: Vec<u8>) {
            excerpt(&body);
        }
    }
}
