//! The texts that PostgreSQL cannot hold as they are.

use std::borrow::Cow;

/// Begins the two characters that stand for NUL or for itself. Unicode assigns it to nothing.
const ESCAPE: char = '\u{10FFFF}';

/// A text as it is stored: PostgreSQL has no NUL in texts.
pub(super) fn stored(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', ESCAPE]) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\0' => escaped.extend([ESCAPE, '0']),
            ESCAPE => escaped.extend([ESCAPE, '1']),
            other => escaped.push(other),
        }
    }
    Cow::Owned(escaped)
}

/// A stored text as it was.
pub(super) fn original(text: &str) -> Cow<'_, str> {
    if !text.contains(ESCAPE) {
        return text.into();
    }
    let mut original = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            ESCAPE if chars.next() == Some('0') => original.push('\0'),
            other => original.push(other),
        }
    }
    original.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_with_nul_is_stored_without_and_comes_back() {
        for text in [
            "",
            "plain",
            "a\0b",
            "\0",
            "\u{10FFFF}",
            "\u{10FFFF}0\0\u{10FFFF}1",
        ] {
            let stored = stored(text);
            assert!(!stored.contains('\0'), "{text:?}");
            assert_eq!(original(&stored), text);
        }
    }
}
