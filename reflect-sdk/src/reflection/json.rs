use serde_json::{Map, Value};

/// How many `{` are tried before giving up.
const MAX_STARTS: usize = 1_000;
/// How often, on average, each byte may be read again after a start that led nowhere.
const MAX_REREADS: usize = 6;

/// The first JSON object in a model's reply that `wanted` accepts, wherever it stands.
///
/// A real parser is tried from each `{`, so braces in strings do no harm, and objects nested in
/// others count. The work is bounded by [`MAX_STARTS`] and [`MAX_REREADS`], whatever the reply
/// holds: hostile input is given up, not read again and again.
pub(crate) fn find_object(
    reply: &str,
    wanted: impl Fn(&Map<String, Value>) -> bool,
) -> Option<Map<String, Value>> {
    let mut budget = reply.len().saturating_mul(MAX_REREADS);
    let mut from = 0;
    for _ in 0..MAX_STARTS {
        let start = from + reply.get(from..)?.find('{')?;
        let rest = &reply[start..];
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Map<String, Value>>();
        match values.next() {
            Some(Ok(object)) => {
                from = start + values.byte_offset();
                if let Some(found) = first_wanted(object, &wanted) {
                    return Some(found);
                }
            }
            Some(Err(error)) => {
                budget = budget.checked_sub(bytes_read(rest, &error))?;
                from = start + 1;
            }
            None => return None,
        }
    }
    None
}

/// The object itself, or the first object within it, outer before inner.
fn first_wanted(
    object: Map<String, Value>,
    wanted: &impl Fn(&Map<String, Value>) -> bool,
) -> Option<Map<String, Value>> {
    if wanted(&object) {
        return Some(object);
    }
    // The parser admits 128 levels, so this cannot recurse far.
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

/// How far the parser came before it gave up.
fn bytes_read(text: &str, error: &serde_json::Error) -> usize {
    let newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
    let line_start = match error.line() {
        0 | 1 => 0,
        line => newlines
            .map(|(at, _)| at + 1)
            .nth(line - 2)
            .unwrap_or(text.len()),
    };
    (line_start + error.column()).clamp(1, text.len())
}
