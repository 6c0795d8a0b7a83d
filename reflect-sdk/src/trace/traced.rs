//! Runs as `#[reflect_trace]` makes them of functions.

use super::builder::TraceBuilder;
use super::context::TraceContext;
use super::open::Open;
use super::parameter::context;
use super::returns::TraceReturn;
use crate::error::{Error, Result};

/// A run that a function is about to start.
#[derive(Debug)]
pub struct Start(pub(super) Box<TraceBuilder>);

impl Start {
    /// The run that was described.
    pub fn new(builder: TraceBuilder) -> Self {
        Self(Box::new(builder))
    }
}

/// A run that has started.
#[derive(Debug)]
pub struct Started(Box<Open>);

/// Starts the run, if there is to be one.
#[inline]
pub fn start(start: Option<Start>) -> Option<Started> {
    start.map(|start| Started(Box::new(start.0.open_blocking())))
}

/// Starts the run, if there is to be one, and if its memories come.
pub fn start_strictly(start: Option<Start>) -> Result<Option<Started>> {
    let Some(start) = start else { return Ok(None) };
    let open = start.0.strict().open_blocking()?;
    Ok(Some(Started(Box::new(open))))
}

/// What can carry the error of a run that did not start.
#[diagnostic::on_unimplemented(
    message = "`strict` returns an error where the memories do not come, and `{Self}` cannot be one",
    label = "needs a function that returns a `Result<_, E>`, with `E: From<reflect_sdk::Error>`"
)]
pub trait Refuse {
    /// Makes the error what is returned.
    fn refuse(error: Error) -> Self;
}

impl<T, E: From<Error>> Refuse for Result<T, E> {
    fn refuse(error: Error) -> Self {
        Err(error.into())
    }
}

/// `TraceReturn<Output = V>` in one bound: if the signature could not say what `V` is, because the
/// function may not return what it does, the compiler has told so and keeps quiet about this.
pub trait Gives<V>: TraceReturn {
    /// The part for the caller.
    fn give(self) -> V;
}

impl<R: TraceReturn> Gives<R::Output> for R {
    #[inline]
    fn give(self) -> R::Output {
        self.into_output()
    }
}

/// Runs the function, as a run if one has started, and gives its output.
#[inline]
pub fn run<R: Gives<V>, V, F: FnOnce() -> R>(started: Option<Started>, body: F) -> V {
    run_whole(started, body).give()
}

/// Runs the function with its context, and gives its output.
pub fn run_with<R: Gives<V>, V, F: FnOnce(TraceContext) -> R>(
    started: Option<Started>,
    body: F,
) -> V {
    run_whole_with(started, body).give()
}

/// Runs the function, as a run if one has started.
#[inline]
pub fn run_whole<R: TraceReturn, F: FnOnce() -> R>(started: Option<Started>, body: F) -> R {
    match started {
        None => body(),
        Some(started) => started.0.run(|_| body()),
    }
}

/// Runs the function with its context.
pub fn run_whole_with<R: TraceReturn, F: FnOnce(TraceContext) -> R>(
    started: Option<Started>,
    body: F,
) -> R {
    match started {
        None => body(context()),
        Some(started) => started.0.run(body),
    }
}
