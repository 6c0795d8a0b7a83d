//! Runs as `#[reflect_trace]` makes them of functions.

use std::sync::{Arc, LazyLock};

use super::ambient::is_within_a_run;
use super::arguments::TaskText;
use super::builder::TraceBuilder;
use super::context::TraceContext;
use super::foreign::Unsent;
use super::handle::TraceHandle;
use super::open::Open;
use super::returns::TraceReturn;
use crate::client::{AsClient, ReflectClient, client};
use crate::error::{Error, Result};

/// A run that a function is about to start.
///
/// All that only calls need that are traced is kept out of line, and out of the way of the others.
#[derive(Debug)]
pub struct Start(pub(super) Box<TraceBuilder>);

/// The run that was described.
#[cold]
#[inline(never)]
pub fn described(builder: TraceBuilder) -> Start {
    Start(Box::new(builder))
}

/// A run without options.
#[cold]
#[inline(never)]
#[expect(
    clippy::needless_pass_by_value,
    reason = "so the caller has nothing left to drop"
)]
pub fn start<T: TaskText + ?Sized>(client: ReflectClient, task: &T) -> Start {
    described(client.trace(task.text()))
}

/// The client of a run of which the body sees nothing; `None` where nothing would come of the run.
///
/// Within one that is recorded, that of a disabled client is a run all the same: what the body notes must not
/// become a part of the run around it.
#[inline]
pub fn unseen_client<C: AsClient + ?Sized>(of: &C) -> Option<ReflectClient> {
    match client(of) {
        None if is_within_a_run() => Some(disabled()),
        found => found,
    }
}

#[cold]
#[inline(never)]
fn disabled() -> ReflectClient {
    static DISABLED: LazyLock<ReflectClient> = LazyLock::new(ReflectClient::disabled);
    DISABLED.clone()
}

/// Whether anything will come of the run, so that its options are asked for.
pub fn is_recorded(run: &TraceBuilder) -> bool {
    run.is_enabled()
}

/// A run that has started.
#[derive(Debug)]
pub struct Started(Box<Open>);

/// A run of which the body can see something, also where nothing comes of it.
#[derive(Debug)]
pub enum Shown<S> {
    /// A run.
    Run(S),
    /// The client is disabled.
    Idle(TraceContext),
}

impl<S> Shown<S> {
    /// The run of a disabled client.
    pub fn idle(task: String) -> Self {
        Self::Idle(TraceContext::idle(task))
    }
}

/// What becomes a run.
pub trait Opens {
    #[doc(hidden)]
    fn unsent(&self) -> Unsent;

    #[doc(hidden)]
    fn run<R: TraceReturn, F: FnOnce(TraceContext) -> R>(self, body: F) -> R;
}

impl Opens for Start {
    fn unsent(&self) -> Unsent {
        Unsent(Arc::clone(self.0.client()))
    }

    #[cold]
    #[inline(never)]
    fn run<R: TraceReturn, F: FnOnce(TraceContext) -> R>(self, body: F) -> R {
        self.0.open_blocking().run(body)
    }
}

impl Opens for Started {
    fn unsent(&self) -> Unsent {
        Unsent(Arc::clone(&self.0.client))
    }

    #[cold]
    #[inline(never)]
    fn run<R: TraceReturn, F: FnOnce(TraceContext) -> R>(self, body: F) -> R {
        self.0.run(body)
    }
}

/// Starts the run, if there is to be one, and if its memories come.
pub fn start_strictly(start: Option<Start>) -> Result<Option<Started>> {
    start.map(Start::start_strictly).transpose()
}

/// Starts the run if its memories come.
pub fn start_shown_strictly(start: Shown<Start>) -> Result<Shown<Started>> {
    Ok(match start {
        Shown::Run(start) => Shown::Run(start.start_strictly()?),
        Shown::Idle(context) => Shown::Idle(context),
    })
}

impl Start {
    fn start_strictly(self) -> Result<Started> {
        let open = self.0.strict().open_blocking()?;
        Ok(Started(Box::new(open)))
    }
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

/// Runs the function, as a run if there is to be one, and gives its output.
#[inline]
pub fn run<R: Gives<V>, V, F: FnOnce() -> R>(run: Option<impl Opens>, body: F) -> V {
    match run {
        None => body().give(),
        Some(run) => run.run(|_| body()).give(),
    }
}

/// Runs the function, as a run if there is to be one.
#[inline]
pub fn run_whole<R: TraceReturn, F: FnOnce() -> R>(run: Option<impl Opens>, body: F) -> R {
    if let Some(run) = run {
        return run.run(|_| body());
    }
    let mut value = body();
    value.attach(TraceHandle::disabled());
    value
}

/// Runs the function with its context, and gives its output.
#[inline]
pub fn run_shown<R: Gives<V>, V, F: FnOnce(TraceContext) -> R>(
    run: Shown<impl Opens>,
    body: F,
) -> V {
    run_whole_shown(run, body).give()
}

/// Runs the function with its context.
#[inline]
pub fn run_whole_shown<R: TraceReturn, F: FnOnce(TraceContext) -> R>(
    run: Shown<impl Opens>,
    body: F,
) -> R {
    match run {
        Shown::Run(run) => run.run(body),
        Shown::Idle(context) => context.run_idle(body),
    }
}
