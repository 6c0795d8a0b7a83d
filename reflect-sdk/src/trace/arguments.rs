//! How values in `#[reflect_trace(…)]` become options of a run.

use std::fmt::Display;

use reflect_types::Metadata;
use serde::Serialize;
use serde_json::Value;

use super::builder::TraceBuilder;

/// What can be the task of a run.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the task of a run: it cannot be shown",
    label = "this does not implement `Display`",
    note = "say what the task is: `#[reflect_trace(task = <expr>)]`, with an expression over the arguments"
)]
pub trait TaskText {
    /// The task in words.
    fn text(&self) -> String;
}

#[diagnostic::do_not_recommend]
impl<T: Display + ?Sized> TaskText for T {
    fn text(&self) -> String {
        self.to_string()
    }
}

/// The task in words.
#[cold]
#[inline(never)]
pub fn task<T: TaskText + ?Sized>(task: &T) -> String {
    task.text()
}

/// The value in words.
pub fn text<T: Display + ?Sized>(value: &T) -> String {
    value.to_string()
}

/// Adds a map, or a list of pairs, to the metadata.
pub fn metadata<T: Serialize + ?Sized>(builder: TraceBuilder, value: &T) -> TraceBuilder {
    pairs("metadata", value)
        .into_iter()
        .fold(builder, |builder, (key, value)| {
            builder.metadata(key, value)
        })
}

/// Only memories whose metadata has all of this.
pub fn metadata_filter<T: Serialize + ?Sized>(builder: TraceBuilder, value: &T) -> TraceBuilder {
    pairs("metadata_filter", value)
        .into_iter()
        .fold(builder, |builder, (key, value)| {
            builder.metadata_filter(key, value)
        })
}

fn pairs<T: Serialize + ?Sized>(option: &str, value: &T) -> Metadata {
    let pairs = match serde_json::to_value(value) {
        Ok(Value::Object(map)) => Some(map),
        Ok(Value::Null) => Some(Metadata::new()),
        Ok(Value::Array(list)) => list.into_iter().map(pair).collect(),
        _ => None,
    };
    pairs.unwrap_or_else(|| {
        tracing::warn!(
            target: "reflect",
            "`{option}` of a traced function is left out: it is neither a map with texts as keys \
             nor a list of pairs"
        );
        Metadata::new()
    })
}

fn pair(value: Value) -> Option<(String, Value)> {
    match value {
        Value::Array(pair) => match <[Value; 2]>::try_from(pair) {
            Ok([Value::String(key), value]) => Some((key, value)),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    #[test]
    fn maps_structs_pairs_and_nothing_are_metadata() {
        let expected = json!({"customer": "acme"});
        let of = |value| Value::Object(value);
        assert_eq!(of(pairs("m", &expected)), expected);
        assert_eq!(of(pairs("m", &[("customer", "acme")])), expected);
        assert_eq!(
            of(pairs("m", &BTreeMap::from([("customer", "acme")]))),
            expected
        );
        assert_eq!(of(pairs("m", &None::<Value>)), json!({}));
        assert_eq!(of(pairs("m", &["acme"])), json!({}));
        assert_eq!(of(pairs("m", &7)), json!({}));
    }
}
