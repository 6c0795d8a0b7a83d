use std::borrow::Cow;
use std::fmt::Display;
use std::sync::Arc;

use super::handle::TraceHandle;
use super::output::TraceOutput;
use super::result::TraceResult;

/// What a traced function may return.
///
/// A text is both what was done and what came of it, and its review is left for later. A
/// [`TraceResult`] says more. An `Err` is a failed run, and a `None` is a run that nothing is
/// recorded of.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be returned from a traced function",
    label = "return a `String`, a `TraceResult<T>`, or a `Result<_, E>` or an `Option<_>` of those",
    note = "wrap the value: `TraceResult::new(value, messages)`",
    note = "the `E` of a `Result<_, E>` must implement `Display`",
    note = "if it is a name of yours for a boxed future, say so: `#[reflect_trace(future)]`"
)]
pub trait TraceReturn: Sized {
    /// What the caller of the traced function gets.
    type Output;

    /// What is recorded of the run.
    fn outcome(&self) -> Outcome;

    /// Is told where to ask what became of the run.
    fn attach(&mut self, handle: &TraceHandle) {
        // Only a `TraceResult` has a place for it.
        let _ = handle;
    }

    /// The part for the caller.
    fn into_output(self) -> Self::Output;
}

/// How a traced function ended, as its return value tells.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Outcome {
    /// With something to record.
    Output(TraceOutput),
    /// With an error, which is told as the feedback of a failed run.
    Error(String),
    /// With nothing to record.
    Nothing,
}

impl<T> TraceReturn for TraceResult<T> {
    type Output = T;

    fn outcome(&self) -> Outcome {
        Outcome::Output(self.record.clone())
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

    fn outcome(&self) -> Outcome {
        match self {
            Ok(value) => value.outcome(),
            Err(error) => Outcome::Error(error.to_string()),
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

    fn outcome(&self) -> Outcome {
        self.as_ref().map_or(Outcome::Nothing, R::outcome)
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

            fn outcome(&self) -> Outcome {
                Outcome::Output(TraceOutput::text(self))
            }

            fn into_output(self) -> Self {
                self
            }
        }
    )*};
}

text_returns!(String, &str, Cow<'_, str>, Box<str>, Arc<str>);
