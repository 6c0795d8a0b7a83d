//! Runs that say which errors fail them.

use std::fmt::Display;
use std::future::Future;

use super::builder::TraceBuilder;
use super::context::TraceContext;
use super::failure::Failure;
use super::handle::TraceHandle;
use super::output::{TraceRecord, TraceReturn};

/// What [`TraceBuilder::auto_fail`] takes: a `bool`, or a closure `|error: &MyError| -> bool`.
#[diagnostic::on_unimplemented(
    message = "`auto_fail` takes `true`, `false` or a closure over a reference to the error, not `{Self}`",
    label = "expected a `bool` or a closure such as `|error: &MyError| error.is_wrong()`"
)]
pub trait AutoFail<Of> {
    /// The run with the rule.
    type Run;

    #[doc(hidden)]
    fn apply(self, run: TraceBuilder) -> Self::Run;
}

impl AutoFail<()> for bool {
    type Run = TraceBuilder;

    fn apply(self, mut run: TraceBuilder) -> TraceBuilder {
        run.options.never_fails = !self;
        run
    }
}

impl<E, F: Fn(&E) -> bool> AutoFail<(E,)> for F {
    type Run = RuledTrace<F>;

    fn apply(self, run: TraceBuilder) -> RuledTrace<F> {
        RuledTrace { run, fails: self }
    }
}

/// A run with a closure that says which errors fail it; see [`TraceBuilder::auto_fail`].
#[derive(Clone, Debug)]
#[must_use = "a run starts with `.run(…)` or `.run_async(…)`"]
pub struct RuledTrace<F> {
    run: TraceBuilder,
    fails: F,
}

impl<F> RuledTrace<F> {
    /// Runs the closure; see [`TraceBuilder::run`].
    pub fn run<R: TraceReturn, E: Display>(
        self,
        body: impl FnOnce(TraceContext) -> Result<R, E>,
    ) -> Result<R::Output, E>
    where
        F: Fn(&E) -> bool,
    {
        let Self { run, fails } = self;
        run.run(|context| Ruled {
            result: body(context),
            fails,
        })
    }

    /// Runs the closure's future; see [`TraceBuilder::run_async`].
    pub async fn run_async<R: TraceReturn, E: Display, B: Future<Output = Result<R, E>>>(
        self,
        body: impl FnOnce(TraceContext) -> B,
    ) -> Result<R::Output, E>
    where
        F: Fn(&E) -> bool,
    {
        let Self { run, fails } = self;
        run.run_async(async |context| Ruled {
            result: body(context).await,
            fails,
        })
        .await
    }
}

/// A result whose error is recorded by a rule.
struct Ruled<R, E, F> {
    result: Result<R, E>,
    fails: F,
}

impl<R: TraceReturn, E: Display, F: Fn(&E) -> bool> TraceReturn for Ruled<R, E, F> {
    type Output = Result<R::Output, E>;

    fn record(&self) -> TraceRecord {
        match &self.result {
            Ok(value) => value.record(),
            Err(error) => TraceRecord::Error(Failure::of(error).fails((self.fails)(error))),
        }
    }

    fn attach(&mut self, handle: &TraceHandle) {
        self.result.attach(handle);
    }

    fn into_output(self) -> Self::Output {
        self.result.into_output()
    }
}
