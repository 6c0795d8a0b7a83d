//! Finding traces by what others call them.

use reflect_types::{Metadata, TraceId};
use serde_json::Value;

use crate::hash::Fnv;

/// What traces are found by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceKey {
    /// The idempotency key.
    Idempotency(String),
    /// All of these [`labels`].
    Labels(Vec<i64>),
}

/// A trace that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundTrace {
    /// The trace.
    pub id: TraceId,
    /// Its metadata. Two values may have the same label, so it has to be compared.
    pub metadata: Metadata,
    /// Whether it has a review, learned from or not.
    pub has_review: bool,
}

/// The most labels of a trace.
const MAX_LABELS: usize = 64;

/// The labels of metadata, sorted: one for each text, number and boolean in it, alone or in a list, of the
/// first 64. Equal values have equal labels.
pub fn labels(metadata: &Metadata) -> Vec<i64> {
    let labels = metadata.iter().flat_map(|(name, value)| match value {
        Value::Array(held) => held.iter().filter_map(|value| label(name, value)).collect(),
        value => Vec::from_iter(label(name, value)),
    });
    let mut labels: Vec<i64> = labels.take(MAX_LABELS).collect();
    labels.sort_unstable();
    labels.dedup();
    labels
}

fn label(name: &str, value: &Value) -> Option<i64> {
    // No text has this byte, so it ends the name.
    let named = Fnv::new().bytes(name.as_bytes()).byte(0xff);
    let hash = match value {
        Value::String(text) => named.byte(b's').bytes(text.as_bytes()),
        // By value; adding zero turns -0.0 into 0.0.
        Value::Number(number) => {
            let bits = (number.as_f64()? + 0.0).to_bits();
            named.byte(b'n').bytes(&bits.to_le_bytes())
        }
        Value::Bool(value) => named.byte(b'b').byte(u8::from(*value)),
        Value::Null | Value::Array(_) | Value::Object(_) => return None,
    };
    Some(hash.finish().cast_signed())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(value: Value) -> Vec<i64> {
        labels(&serde_json::from_value(value).unwrap())
    }

    #[test]
    fn equal_values_have_equal_labels() {
        assert_eq!(of(json!({"n": 1})), of(json!({"n": 1.0})));
        assert_eq!(of(json!({"n": 0})), of(json!({"n": -0.0})));
        assert_ne!(of(json!({"n": 1})), of(json!({"n": "1"})));
        assert_ne!(of(json!({"ab": "c"})), of(json!({"a": "bc"})));
        let listed = of(json!({"tag": ["a", "b", ["c"], null]}));
        assert_eq!(listed.len(), 2);
        assert!(listed.contains(&of(json!({"tag": "b"}))[0]));
        assert!(of(json!({"a": {"b": 1}, "c": null})).is_empty());
    }

    #[test]
    fn stored_labels_depend_on_this_value() {
        assert_eq!(of(json!({"ticket": "123"})), [8_135_181_530_225_637_151]);
    }

    #[test]
    fn a_large_list_has_a_bounded_number_of_labels() {
        let many: Vec<u32> = (0..1_000).collect();
        assert_eq!(of(json!({ "n": many })).len(), MAX_LABELS);
    }
}
