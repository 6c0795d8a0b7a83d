use serde_json::{Map, Value};

/// The most `{` tried.
const MAX_STARTS: usize = 1_000;
/// The bytes of any reply that may be read repeatedly.
const SPARE_BYTES: usize = 256 * 1024;

/// The first JSON object in a model's reply that `wanted` accepts.
///
/// From each `{`, the text up to the matching brace is given to a JSON parser. Braces in strings
/// are skipped, and nested objects count. The work is bounded for any reply.
pub(crate) fn find_object(
    reply: &str,
    wanted: impl Fn(&Map<String, Value>) -> bool,
) -> Option<Map<String, Value>> {
    let mut scan_budget = SPARE_BYTES.saturating_add(reply.len().saturating_mul(4));
    // Parsing is many times slower than searching for a brace.
    let mut parse_budget = SPARE_BYTES.saturating_add(reply.len() / 2);
    let mut from = 0;
    for _ in 0..MAX_STARTS {
        let start = from + reply.get(from..)?.find('{')?;
        let (scanned, end) = object_end(&reply.as_bytes()[start..]);
        scan_budget = scan_budget.checked_sub(scanned)?;
        from = start + 1;
        // Braces and quotes are single bytes, so the end lies between characters.
        let Some(text) = end.and_then(|end| reply.get(start..start + end)) else {
            continue;
        };
        match serde_json::from_str(text) {
            Ok(object) => {
                if let Some(found) = first_wanted(object, &wanted) {
                    return Some(found);
                }
                from = start + text.len();
            }
            Err(error) => parse_budget = parse_budget.checked_sub(bytes_read(text, &error))?,
        }
    }
    None
}

/// The number of bytes scanned, and the end of the object that starts the text, if it ends.
fn object_end(bytes: &[u8]) -> (usize, Option<usize>) {
    let mut depth = 0_usize;
    let mut in_string = false;
    let mut escaped = false;
    for (at, &byte) in bytes.iter().enumerate() {
        if in_string {
            if escaped {
                escaped = false;
            } else if byte == b'\\' {
                escaped = true;
            } else if byte == b'"' {
                in_string = false;
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return (at + 1, Some(at + 1));
        }
    }
    (bytes.len(), None)
}

/// The object itself or the first accepted object within it, outer before inner.
fn first_wanted(
    object: Map<String, Value>,
    wanted: &impl Fn(&Map<String, Value>) -> bool,
) -> Option<Map<String, Value>> {
    if wanted(&object) {
        return Some(object);
    }
    // The parser allows 128 levels, which bounds the recursion.
    object
        .into_iter()
        .find_map(|(_, value)| first_within(value, wanted))
}

fn first_within(
    value: Value,
    wanted: &impl Fn(&Map<String, Value>) -> bool,
) -> Option<Map<String, Value>> {
    match value {
        Value::Object(object) => first_wanted(object, wanted),
        Value::Array(items) => items
            .into_iter()
            .find_map(|item| first_within(item, wanted)),
        _ => None,
    }
}

/// The number of bytes parsed before the error.
fn bytes_read(text: &str, error: &serde_json::Error) -> usize {
    let before = error.line().saturating_sub(1);
    let lines = text.split_inclusive('\n').take(before);
    let line_start: usize = lines.map(str::len).sum();
    (line_start + error.column()).min(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(reply: &str) -> Option<Value> {
        find_object(reply, |fields| fields.contains_key("k")).map(Value::Object)
    }

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
            assert_eq!(object_end(text.as_bytes()).1, end, "{text}");
        }
    }

    #[test]
    fn the_first_accepted_object_is_found_outer_before_inner() {
        assert_eq!(found(r#"{"k": {"k": 1}}"#).unwrap()["k"]["k"], 1);
        assert_eq!(found(r#"{"x": [{"k": 2}]} {"k": 3}"#).unwrap()["k"], 2);
        assert_eq!(found(r#"{"x": {"k": 4}, oops}"#).unwrap()["k"], 4);
        assert_eq!(found(r#"{"x": {"k": 5}"#).unwrap()["k"], 5);
        assert_eq!(found("no object"), None);
    }

    #[test]
    fn parsed_bytes_are_counted_over_lines() {
        let text = "{\"a\":\n1,\n!}";
        let error = serde_json::from_str::<Value>(text).unwrap_err();
        assert_eq!(bytes_read(text, &error), text.len() - 1);
    }
}
