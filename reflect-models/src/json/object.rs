//! The text of one object: its length, and its repair.

use serde_json::{Map, Value};

/// Parses an object, repaired if it is malformed.
pub(super) fn parse(object: &str) -> Result<Map<String, Value>, serde_json::Error> {
    serde_json::from_str(object).or_else(|_| serde_json::from_str(&mended(object)))
}

/// The length of the object at the beginning of the text; `None` if it does not end.
pub(super) fn length(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut strings = Strings::default();
    for (at, byte) in text.bytes().enumerate() {
        if strings.contain(byte) {
            continue;
        }
        match byte {
            b'{' => depth += 1,
            b'}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// Whether the text continues like an object, so that its `{` is not a stray brace.
pub(super) fn is_begun(text: &str) -> bool {
    text[1..].trim_start().starts_with('"')
}

/// The object without trailing commas, and with line breaks in strings escaped.
fn mended(object: &str) -> String {
    let mut mended = String::with_capacity(object.len());
    let mut strings = Strings::default();
    for (at, c) in object.char_indices() {
        // Quotes and backslashes are ASCII; any other character counts as a letter.
        let within = strings.contain(u8::try_from(c).unwrap_or(b'x'));
        match c {
            '\n' if within => mended.push_str("\\n"),
            '\t' if within => mended.push_str("\\t"),
            c if within && c.is_control() => {}
            ',' if !within && closes(&object[at + 1..]) => {}
            c => mended.push(c),
        }
    }
    mended
}

fn closes(rest: &str) -> bool {
    rest.trim_start().starts_with(['}', ']'])
}

/// Tracks whether a position is inside a string.
#[derive(Default)]
struct Strings {
    inside: bool,
    escaped: bool,
}

impl Strings {
    /// Advances by one byte; whether it belongs to a string.
    fn contain(&mut self, byte: u8) -> bool {
        if !self.inside {
            self.inside = byte == b'"';
            return self.inside;
        }
        if self.escaped {
            self.escaped = false;
        } else if byte == b'\\' {
            self.escaped = true;
        } else if byte == b'"' {
            self.inside = false;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_ends_at_its_own_brace() {
        for (text, end) in [
            ("{}", Some(2)),
            (r#"{"a": "}"} rest"#, Some(10)),
            (r#"{"a": "\"}"}"#, Some(12)),
            (r#"{"a": {"b": {}}}"#, Some(16)),
            ("{", None),
            (r#"{"a": "}"#, None),
        ] {
            assert_eq!(length(text), end, "{text}");
        }
    }
}
