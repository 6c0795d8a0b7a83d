//! What the expansion of `#[reflect_trace]` calls.

use std::fmt::Display;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Duration;

use reflect_types::Metadata;
use serde::Serialize;
use serde_json::Value;

use super::builder::TraceBuilder;
use super::context::TraceContext;
use super::failure::Inspect;
use super::output::{ReturnValue, TraceReturn};
use super::run::OpenRun;
use crate::error::{Error, Result};

/// The first parameter of a traced function.
#[diagnostic::on_unimplemented(
    message = "the first parameter of a traced function is its context, and `{Self}` is not a `TraceContext`",
    label = "write `&TraceContext` here, and the function's own parameters after it",
    note = "to do without the parameter, add `inject_context = false`"
)]
pub trait ContextParameter<'a>: Sized {
    /// The value of the parameter.
    fn bind(slot: &'a mut TraceContext) -> Self;
}

impl ContextParameter<'_> for TraceContext {
    fn bind(slot: &mut TraceContext) -> Self {
        slot.clone()
    }
}

impl<'a> ContextParameter<'a> for &'a TraceContext {
    fn bind(slot: &'a mut TraceContext) -> Self {
        slot
    }
}

impl<'a> ContextParameter<'a> for &'a mut TraceContext {
    fn bind(slot: &'a mut TraceContext) -> Self {
        slot
    }
}

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

/// The text of a value.
pub fn task_text<T: TaskText + ?Sized>(task: &T) -> String {
    task.text()
}

/// A value with a text, such as the name of a model.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be shown as text",
    label = "this does not implement `Display`, nor is it an `Option` of something that does",
    note = "use a string, or another value that implements `Display`"
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
pub fn model(run: TraceBuilder, name: Option<String>) -> TraceBuilder {
    match name {
        Some(name) => run.model(name),
        None => run,
    }
}

/// Sets the session.
pub fn session(run: TraceBuilder, id: Option<String>) -> TraceBuilder {
    match id {
        Some(id) => run.session(id),
        None => run,
    }
}

/// Sets the reference context.
pub fn reference_context(run: TraceBuilder, text: Option<String>) -> TraceBuilder {
    match text {
        Some(text) => run.reference_context(text),
        None => run,
    }
}

/// Sets whether errors and panics fail the run.
pub fn auto_fail(run: TraceBuilder, fails: bool) -> TraceBuilder {
    run.auto_fail(fails)
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

/// The pairs of a value.
pub fn pairs<T: Pairs + ?Sized>(value: &T) -> Option<Metadata> {
    value.pairs()
}

/// Adds a map, or a list of pairs, to the metadata.
pub fn metadata(run: TraceBuilder, pairs: Option<Metadata>) -> TraceBuilder {
    let pairs = checked("metadata", pairs).into_iter();
    pairs.fold(run, |run, (key, value)| run.metadata(key, value))
}

/// Retrieves only memories whose metadata has all of these pairs.
pub fn metadata_filter(run: TraceBuilder, pairs: Option<Metadata>) -> TraceBuilder {
    let pairs = checked("metadata_filter", pairs).into_iter();
    pairs.fold(run, |run, (key, value)| run.metadata_filter(key, value))
}

fn checked(option: &'static str, pairs: Option<Metadata>) -> Metadata {
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

/// Whether the run may be recorded, so that its options are evaluated.
pub fn is_recorded(run: &TraceBuilder) -> bool {
    run.is_enabled()
}

/// Starts the run of a function that is not async.
pub fn open(run: TraceBuilder) -> OpenRun {
    run.open_blocking()
}

/// Starts the run of a function that is not async, or returns the error of the retrieval.
pub fn open_strictly(run: TraceBuilder) -> Result<OpenRun> {
    run.strict().open_blocking()
}

/// A return type for the error of a `strict` run that did not start.
#[diagnostic::on_unimplemented(
    message = "`strict` returns an error if the memories cannot be retrieved, and `{Self}` cannot be one",
    label = "needs a function that returns a `Result<_, E>`, or a stream of these without being `async`, with `E: From<reflect_sdk::Error>`"
)]
pub trait Refusal {
    /// The value to return.
    fn refuse(error: Error) -> Self;
}

impl<T, E: From<Error>> Refusal for Result<T, E> {
    fn refuse(error: Error) -> Self {
        Err(error.into())
    }
}

/// Runs the function and returns its output.
pub fn run<R: ReturnValue<V>, V, F: FnOnce(TraceContext) -> R>(
    run: OpenRun,
    body: F,
    inspect: Inspect<R>,
) -> V {
    run.run(body, inspect).into_value()
}

/// Runs the function and returns its value as it is.
pub fn run_whole<R: TraceReturn, F: FnOnce(TraceContext) -> R>(
    run: OpenRun,
    body: F,
    inspect: Inspect<R>,
) -> R {
    run.run(body, inspect)
}

/// Runs a function that a panic must not leave, such as an `extern "C" fn`. A panic then ends the
/// process, so the run is sent before.
pub fn foreign<V>(run: OpenRun, body: impl FnOnce(OpenRun) -> V) -> V {
    /// A process that is about to end must not be held up for long.
    const LIMIT: Duration = Duration::from_secs(2);

    let client = Arc::clone(&run.client);
    catch_unwind(AssertUnwindSafe(|| body(run))).unwrap_or_else(|payload| {
        client.outbox().wait_blocking(LIMIT);
        resume_unwind(payload)
    })
}

/// A context without a run, for a function that does not compile.
pub fn unstarted() -> TraceContext {
    TraceContext::idle(String::new(), None)
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
        let of = |pairs: Option<Metadata>| pairs.map(Value::Object);
        assert_eq!(of(pairs(&expected)), Some(expected.clone()));
        assert_eq!(of(pairs(&[("customer", "acme")])), Some(expected.clone()));
        let map = BTreeMap::from([("customer", "acme")]);
        assert_eq!(of(pairs(&map)), Some(expected));
        assert_eq!(of(pairs(&None::<Value>)), Some(json!({})));
        assert_eq!((pairs(&["acme"]), pairs(&7)), (None, None));
    }
}
