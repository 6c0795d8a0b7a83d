//! Metadata filters.

use std::hash::{DefaultHasher, Hash, Hasher};

use reflect_types::Metadata;
use serde_json::{Number, Value};

/// Whether every key of the filter matches the memory's metadata.
///
/// - A scalar matches an equal value, or a list that contains it. Numbers are compared by value, so
///   `1` matches `1.0`; `null` matches a stored `null`, not an absent key.
/// - A list matches if any of its elements does; an empty list matches nothing.
/// - An object matches a stored object, or a list that contains one, in which every key of the
///   filter matches; other stored keys are ignored.
///
/// An empty filter matches everything, including memories without metadata.
pub fn matches(filter: &Metadata, metadata: Option<&Metadata>) -> bool {
    all_match(filter, |key| metadata?.get(key))
}

/// Whether every key of the filter matches the `stored` value of that key.
pub(crate) fn all_match<'a>(filter: &Metadata, stored: impl Fn(&str) -> Option<&'a Value>) -> bool {
    let mut keys = filter.iter();
    keys.all(|(key, wanted)| stored(key).is_some_and(|stored| value_matches(wanted, stored)))
}

fn value_matches(wanted: &Value, stored: &Value) -> bool {
    match (wanted, stored) {
        (Value::Array(any), _) => any.iter().any(|wanted| value_matches(wanted, stored)),
        (_, Value::Array(held)) => held.iter().any(|stored| value_matches(wanted, stored)),
        (Value::Object(wanted), Value::Object(stored)) => all_match(wanted, |key| stored.get(key)),
        (Value::Number(wanted), Value::Number(stored)) => number_matches(wanted, stored),
        _ => wanted == stored,
    }
}

fn number_matches(wanted: &Number, stored: &Number) -> bool {
    // As floats, large neighbouring integers would be equal.
    let mixed = wanted.is_f64() != stored.is_f64();
    wanted == stored || (mixed && wanted.as_f64() == stored.as_f64())
}

/// A bit for every scalar in the metadata, alone or in a list.
///
/// Metadata that matches a filter has all bits of its [`required_signature`], so that a scan skips
/// most of the rest without reading it.
pub(crate) fn signature(metadata: &Metadata) -> u64 {
    let bits = metadata.iter().map(|(key, value)| held_bits(key, value));
    bits.fold(0, |all, bits| all | bits)
}

/// The bits of all scalars in a filter.
pub(crate) fn required_signature(filter: &Metadata) -> u64 {
    let scalars = filter.iter().filter(|(_, value)| !value.is_array());
    let bits = scalars.map(|(key, value)| held_bits(key, value));
    bits.fold(0, |all, bits| all | bits)
}

fn held_bits(key: &str, value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    match value {
        Value::Array(held) => {
            return held.iter().fold(0, |all, v| all | held_bits(key, v));
        }
        Value::Object(_) => return 0,
        Value::Null => (),
        Value::Bool(value) => value.hash(&mut hasher),
        // Adding zero turns -0.0 into 0.0: they are equal as numbers.
        Value::Number(n) => n.as_f64().map(|n| (n + 0.0).to_bits()).hash(&mut hasher),
        Value::String(text) => text.hash(&mut hasher),
    }
    1 << (hasher.finish() % 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn map(value: Value) -> Metadata {
        serde_json::from_value(value).unwrap()
    }

    /// Also checks the signature.
    fn lets_through(filter: Value, stored: Value) -> bool {
        let (filter, stored) = (map(filter), map(stored));
        let answer = matches(&filter, Some(&stored));
        let required = required_signature(&filter);
        assert!(!answer || signature(&stored) & required == required);
        answer
    }

    #[test]
    fn every_key_must_match() {
        let stored = json!({"team": "support", "tier": 2});
        assert!(lets_through(
            json!({"team": "support", "tier": 2}),
            stored.clone()
        ));
        assert!(!lets_through(
            json!({"team": "support", "tier": 3}),
            stored.clone()
        ));
        assert!(!lets_through(
            json!({"team": "support", "absent": 1}),
            stored
        ));
    }

    #[test]
    fn a_scalar_occurs_in_a_stored_list() {
        assert!(lets_through(
            json!({"tag": "b"}),
            json!({"tag": ["a", "b"]})
        ));
        assert!(!lets_through(
            json!({"tag": "c"}),
            json!({"tag": ["a", "b"]})
        ));
    }

    #[test]
    fn a_list_asks_for_any_of_its_elements() {
        assert!(lets_through(
            json!({"tag": ["x", "b"]}),
            json!({"tag": "b"})
        ));
        assert!(lets_through(
            json!({"tag": ["x", "b"]}),
            json!({"tag": ["a", "b"]})
        ));
        assert!(!lets_through(
            json!({"tag": ["x"]}),
            json!({"tag": ["a", "b"]})
        ));
        assert!(!lets_through(json!({"tag": []}), json!({"tag": []})));
    }

    #[test]
    fn an_object_asks_for_the_keys_it_names() {
        let stored = json!({"run": {"model": "m", "seed": 7}});
        assert!(lets_through(json!({"run": {"seed": 7}}), stored.clone()));
        assert!(!lets_through(json!({"run": {"seed": 8}}), stored.clone()));
        assert!(!lets_through(json!({"run": 7}), stored));
        let listed = json!({"run": [{"seed": 1}, {"seed": 7}]});
        assert!(lets_through(json!({"run": {"seed": 7}}), listed));
    }

    #[test]
    fn numbers_are_equal_by_value() {
        assert!(lets_through(json!({"n": 1.0}), json!({"n": 1})));
        assert!(lets_through(json!({"n": 0}), json!({"n": -0.0})));
        let (large, neighbour) = (9_007_199_254_740_993_u64, 9_007_199_254_740_992_u64);
        assert!(!lets_through(json!({"n": large}), json!({"n": neighbour})));
        assert!(!lets_through(json!({"n": "1"}), json!({"n": 1})));
    }

    #[test]
    fn null_is_a_value_and_absence_is_none() {
        assert!(lets_through(json!({"n": null}), json!({"n": null})));
        assert!(!lets_through(json!({"n": null}), json!({})));
    }

    #[test]
    fn an_empty_filter_lets_everything_through() {
        assert!(lets_through(json!({}), json!({"a": 1})));
        assert!(matches(&Metadata::new(), None));
        assert!(!matches(&map(json!({"a": 1})), None));
    }
}
