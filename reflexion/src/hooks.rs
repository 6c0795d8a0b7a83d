use std::fmt;
use std::future::Future;

use super::Evaluation;
use super::boxed::{BoxError, BoxFuture};
use super::into_result::IntoResult;

/// What a hook returns; an `Err` ends the run, and keeps what was done so far in the error.
pub type HookResult = Result<(), BoxError>;

/// Code of yours at the turning points of a run; write only the methods you need.
///
/// The order in a trial is: start, then (if it failed and another follows) reflection, then end.
pub trait Hooks: Send + Sync + 'static {
    /// Before a trial.
    fn on_trial_start(&self, trial: u32) -> impl Future<Output = HookResult> + Send {
        let _ = trial;
        async { Ok(()) }
    }

    /// After a trial, whether it is the last or not.
    fn on_trial_end(
        &self,
        trial: u32,
        evaluation: &Evaluation,
    ) -> impl Future<Output = HookResult> + Send {
        let _ = (trial, evaluation);
        async { Ok(()) }
    }

    /// When a failed trial has been reflected on.
    fn on_reflection_generated(
        &self,
        trial: u32,
        reflection: &str,
    ) -> impl Future<Output = HookResult> + Send {
        let _ = (trial, reflection);
        async { Ok(()) }
    }
}

type OnStart = dyn Fn(u32) -> HookResult + Send + Sync;
type OnEnd = dyn Fn(u32, &Evaluation) -> HookResult + Send + Sync;
type OnReflection = dyn Fn(u32, &str) -> HookResult + Send + Sync;

/// [`Hooks`] from closures, each returning `()` or a `Result`.
///
/// ```
/// use reflect_sdk::reflexion::HookFns;
///
/// let hooks = HookFns::new()
///     .on_trial_start(|trial| println!("trial {trial}"))
///     .on_trial_end(|trial, evaluation| match (trial, evaluation.success) {
///         (2, false) => Err("two failures are enough"),
///         _ => Ok(()),
///     });
/// ```
#[derive(Default)]
pub struct HookFns {
    start: Option<Box<OnStart>>,
    end: Option<Box<OnEnd>>,
    reflection: Option<Box<OnReflection>>,
}

impl HookFns {
    /// No hooks yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Calls this before each trial.
    #[must_use]
    pub fn on_trial_start<R: IntoResult<()>>(
        mut self,
        hook: impl Fn(u32) -> R + Send + Sync + 'static,
    ) -> Self {
        self.start = Some(Box::new(move |trial| hook(trial).into_result()));
        self
    }

    /// Calls this after each trial.
    #[must_use]
    pub fn on_trial_end<R: IntoResult<()>>(
        mut self,
        hook: impl Fn(u32, &Evaluation) -> R + Send + Sync + 'static,
    ) -> Self {
        self.end = Some(Box::new(move |trial, evaluation| {
            hook(trial, evaluation).into_result()
        }));
        self
    }

    /// Calls this for each reflection.
    #[must_use]
    pub fn on_reflection_generated<R: IntoResult<()>>(
        mut self,
        hook: impl Fn(u32, &str) -> R + Send + Sync + 'static,
    ) -> Self {
        self.reflection = Some(Box::new(move |trial, text| hook(trial, text).into_result()));
        self
    }
}

impl Hooks for HookFns {
    async fn on_trial_start(&self, trial: u32) -> HookResult {
        self.start.as_ref().map_or(Ok(()), |hook| hook(trial))
    }

    async fn on_trial_end(&self, trial: u32, evaluation: &Evaluation) -> HookResult {
        let hook = self.end.as_ref();
        hook.map_or(Ok(()), |hook| hook(trial, evaluation))
    }

    async fn on_reflection_generated(&self, trial: u32, reflection: &str) -> HookResult {
        let hook = self.reflection.as_ref();
        hook.map_or(Ok(()), |hook| hook(trial, reflection))
    }
}

impl fmt::Debug for HookFns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HookFns")
            .field("on_trial_start", &self.start.is_some())
            .field("on_trial_end", &self.end.is_some())
            .field("on_reflection_generated", &self.reflection.is_some())
            .finish()
    }
}

pub(super) trait DynHooks: Send + Sync {
    fn on_trial_start(&self, trial: u32) -> BoxFuture<'_, HookResult>;
    fn on_trial_end<'a>(&'a self, trial: u32, e: &'a Evaluation) -> BoxFuture<'a, HookResult>;
    fn on_reflection_generated<'a>(&'a self, trial: u32, r: &'a str) -> BoxFuture<'a, HookResult>;
}

impl<T: Hooks> DynHooks for T {
    fn on_trial_start(&self, trial: u32) -> BoxFuture<'_, HookResult> {
        Box::pin(Hooks::on_trial_start(self, trial))
    }

    fn on_trial_end<'a>(&'a self, trial: u32, e: &'a Evaluation) -> BoxFuture<'a, HookResult> {
        Box::pin(Hooks::on_trial_end(self, trial, e))
    }

    fn on_reflection_generated<'a>(&'a self, trial: u32, r: &'a str) -> BoxFuture<'a, HookResult> {
        Box::pin(Hooks::on_reflection_generated(self, trial, r))
    }
}
