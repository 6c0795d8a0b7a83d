use std::borrow::Cow;
use std::fmt::Display;
use std::sync::Arc;

use super::handle::TraceHandle;
use super::output::TraceOutput;
use super::result::TraceResult;

/// A return type of a traced function.
///
/// A text is both trajectory and final response, without a verdict. A [`TraceResult`] has its own
/// record. An `Err` is a failed run, and a `None` is a run that is not recorded.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be returned from a traced function",
    label = "return a `String`, a `TraceResult<T>`, or a `Result<_, E>` or an `Option<_>` of those",
    note = "wrap the value: `TraceResult::new(value, messages)`",
    note = "the `E` of a `Result<_, E>` must implement `Display`",
    note = "if it is an alias of a boxed future, add the option: `#[reflect_trace(future)]`"
)]
pub trait TraceReturn: Sized {
    /// What the caller of the traced function gets.
    type Output;

    /// The record of the run.
    fn record(&self) -> TraceRecord;

    /// Receives the handle of the run, before [`into_output`](Self::into_output).
    fn attach(&mut self, handle: &TraceHandle) {
        let _ = handle;
    }

    /// The part for the caller.
    fn into_output(self) -> Self::Output;
}

/// The record of a run, as the return value of its body tells it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum TraceRecord {
    /// An output.
    Output(TraceOutput),
    /// An error: the run failed, with this feedback.
    Error(String),
    /// Nothing to record.
    Nothing,
}

/// `TraceReturn<Output = V>` as one bound. Where the type of a signature is no `TraceReturn`, `V` is an
/// error too, and the compiler reports only the first.
pub trait ReturnValue<V>: TraceReturn {
    /// The part for the caller.
    fn into_value(self) -> V;
}

impl<R: TraceReturn> ReturnValue<R::Output> for R {
    #[inline]
    fn into_value(self) -> R::Output {
        self.into_output()
    }
}

impl<T> TraceReturn for TraceResult<T> {
    type Output = T;

    fn record(&self) -> TraceRecord {
        TraceRecord::Output(self.record.clone())
    }

    fn attach(&mut self, handle: &TraceHandle) {
        self.handle = Some(handle.clone());
    }

    fn into_output(self) -> T {
        self.output
    }
}

impl<R: TraceReturn, E: Display> TraceReturn for Result<R, E> {
    type Output = Result<R::Output, E>;

    fn record(&self) -> TraceRecord {
        match self {
            Ok(value) => value.record(),
            Err(error) => TraceRecord::Error(error.to_string()),
        }
    }

    fn attach(&mut self, handle: &TraceHandle) {
        if let Ok(value) = self {
            value.attach(handle);
        }
    }

    fn into_output(self) -> Self::Output {
        self.map(R::into_output)
    }
}

impl<R: TraceReturn> TraceReturn for Option<R> {
    type Output = Option<R::Output>;

    fn record(&self) -> TraceRecord {
        self.as_ref().map_or(TraceRecord::Nothing, R::record)
    }

    fn attach(&mut self, handle: &TraceHandle) {
        if let Some(value) = self {
            value.attach(handle);
        }
    }

    fn into_output(self) -> Self::Output {
        self.map(R::into_output)
    }
}

macro_rules! text_returns {
    ($($type:ty),*) => {$(
        impl TraceReturn for $type {
            type Output = Self;

            fn record(&self) -> TraceRecord {
                TraceRecord::Output(TraceOutput::text(self))
            }

            fn into_output(self) -> Self {
                self
            }
        }
    )*};
}

text_returns!(String, &str, Cow<'_, str>, Box<str>, Arc<str>);
