//! Values in `#[reflect_trace(…)]` as options of a run.

use std::fmt::Display;
use std::ops::Deref;

use reflect_types::Metadata;
use serde::Serialize;
use serde_json::Value;

use super::builder::TraceBuilder;

/// A value that can be the task of a run.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the task of a run: it cannot be shown",
    label = "this does not implement `Display`",
    note = "say what the task is: `#[reflect_trace(task = <expr>)]`, with an expression over the arguments"
)]
pub trait TaskText {
    /// The text of the task.
    fn text(&self) -> String;
}

#[diagnostic::do_not_recommend]
impl<T: Display + ?Sized> TaskText for T {
    fn text(&self) -> String {
        self.to_string()
    }
}

/// The text of the task.
#[cold]
#[inline(never)]
pub fn task<T: TaskText + ?Sized>(task: &T) -> String {
    task.text()
}

/// A value with a text, such as the name of a model.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a text: it cannot be shown",
    label = "this does not implement `Display`, nor is it an `Option` of something that does",
    note = "write a text here, or an expression that gives one"
)]
pub trait TextValue {
    /// The text of the value.
    fn show(&self) -> String;
}

#[diagnostic::do_not_recommend]
impl<T: Display + ?Sized> TextValue for T {
    fn show(&self) -> String {
        self.to_string()
    }
}

/// A text or an `Option` of one; `None` leaves the option of the run unset.
///
/// Method resolution takes `show` of this type for an `Option`, and that of [`Text`] for other values.
/// One trait for both would need `Option` to never implement `Display`.
#[derive(Debug)]
pub struct OptionalText<'a, T: ?Sized>(Text<'a, T>);

/// A text.
#[derive(Debug)]
pub struct Text<'a, T: ?Sized>(&'a T);

/// Wraps the value to call `show` on it.
pub fn text<T: ?Sized>(value: &T) -> OptionalText<'_, T> {
    OptionalText(Text(value))
}

impl<T> OptionalText<'_, Option<T>> {
    /// The text of the value.
    pub fn show(&self) -> Option<String>
    where
        T: TextValue,
    {
        self.0.0.as_ref().map(T::show)
    }
}

impl<T> OptionalText<'_, &Option<T>> {
    /// The text of the value.
    pub fn show(&self) -> Option<String>
    where
        T: TextValue,
    {
        self.0.0.as_ref().map(T::show)
    }
}

impl<'a, T: ?Sized> Deref for OptionalText<'a, T> {
    type Target = Text<'a, T>;

    fn deref(&self) -> &Text<'a, T> {
        &self.0
    }
}

impl<T: ?Sized> Text<'_, T> {
    /// The text of the value.
    pub fn show(&self) -> Option<String>
    where
        T: TextValue,
    {
        Some(self.0.show())
    }
}

/// Sets the model.
pub fn model(builder: TraceBuilder, name: Option<String>) -> TraceBuilder {
    match name {
        Some(name) => builder.model(name),
        None => builder,
    }
}

/// Sets the reference context.
pub fn reference_context(builder: TraceBuilder, text: Option<String>) -> TraceBuilder {
    match text {
        Some(text) => builder.reference_context(text),
        None => builder,
    }
}

/// A value that can be the metadata of a run.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be metadata: it cannot be serialized",
    label = "this is not a map or a list of pairs that implements `serde::Serialize`",
    note = "write pairs, as in `[(\"customer\", &customer)]`"
)]
pub trait Pairs {
    /// The pairs; `None` if the value is neither a map nor a list of pairs.
    fn pairs(&self) -> Option<Metadata>;
}

#[diagnostic::do_not_recommend]
impl<T: Serialize + ?Sized> Pairs for T {
    fn pairs(&self) -> Option<Metadata> {
        match serde_json::to_value(self) {
            Ok(Value::Object(map)) => Some(map),
            Ok(Value::Null) => Some(Metadata::new()),
            Ok(Value::Array(list)) => list.into_iter().map(pair).collect(),
            _ => None,
        }
    }
}

/// Adds a map, or a list of pairs, to the metadata.
pub fn metadata<T: Pairs + ?Sized>(builder: TraceBuilder, value: &T) -> TraceBuilder {
    pairs("metadata", value)
        .into_iter()
        .fold(builder, |builder, (key, value)| {
            builder.metadata(key, value)
        })
}

/// Retrieves only memories whose metadata has all of these pairs.
pub fn metadata_filter<T: Pairs + ?Sized>(builder: TraceBuilder, value: &T) -> TraceBuilder {
    pairs("metadata_filter", value)
        .into_iter()
        .fold(builder, |builder, (key, value)| {
            builder.metadata_filter(key, value)
        })
}

fn pairs<T: Pairs + ?Sized>(option: &str, value: &T) -> Metadata {
    value.pairs().unwrap_or_else(|| {
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
    fn texts_and_options_of_texts_are_shown() {
        let name = "m".to_owned();
        assert_eq!(text(&name).show().as_deref(), Some("m"));
        assert_eq!(text("m").show().as_deref(), Some("m"));
        assert_eq!(text(&7).show().as_deref(), Some("7"));
        assert_eq!(text(&Some(&name)).show().as_deref(), Some("m"));
        assert_eq!(text(&&Some(&name)).show().as_deref(), Some("m"));
        assert_eq!(text(&None::<String>).show(), None);
    }

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
