use std::fmt;
use std::future::Future;

use crate::boxed::{BoxError, BoxFuture};
use crate::evaluation::Evaluation;
use crate::id::TrialId;
use crate::into_result::IntoResult;

/// The result of a hook. An `Err` ends the run; the error holds the trials so far.
pub type HookResult = Result<(), BoxError>;

/// Callbacks at the turning points of a run. Every method has a default that does nothing.
///
/// The order within a trial is: start, reflection (if the trial failed and another follows), end.
pub trait Hooks: Send + Sync + 'static {
    /// Called before a trial.
    fn on_trial_start(&self, trial: &TrialId) -> impl Future<Output = HookResult> + Send {
        let _ = trial;
        async { Ok(()) }
    }

    /// Called after every trial.
    fn on_trial_end(
        &self,
        trial: &TrialId,
        evaluation: &Evaluation,
    ) -> impl Future<Output = HookResult> + Send {
        let _ = (trial, evaluation);
        async { Ok(()) }
    }

    /// Called after the self-reflection on a failed trial.
    fn on_reflection_generated(
        &self,
        trial: &TrialId,
        reflection: &str,
    ) -> impl Future<Output = HookResult> + Send {
        let _ = (trial, reflection);
        async { Ok(()) }
    }
}

type OnStart = dyn Fn(&TrialId) -> HookResult + Send + Sync;
type OnEnd = dyn Fn(&TrialId, &Evaluation) -> HookResult + Send + Sync;
type OnReflection = dyn Fn(&TrialId, &str) -> HookResult + Send + Sync;

/// [`Hooks`] from closures, each returning `()` or a `Result`.
///
/// ```
/// use reflexion::HookFns;
///
/// let hooks = HookFns::new()
///     .on_trial_start(|trial| println!("run {}, trial {}", trial.run_id, trial.number))
///     .on_trial_end(|trial, evaluation| match (trial.number, evaluation.success) {
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
    /// No hooks.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the closure called before each trial.
    #[must_use]
    pub fn on_trial_start<R: IntoResult<()>>(
        mut self,
        hook: impl Fn(&TrialId) -> R + Send + Sync + 'static,
    ) -> Self {
        self.start = Some(Box::new(move |trial| hook(trial).into_result()));
        self
    }

    /// Sets the closure called after each trial.
    #[must_use]
    pub fn on_trial_end<R: IntoResult<()>>(
        mut self,
        hook: impl Fn(&TrialId, &Evaluation) -> R + Send + Sync + 'static,
    ) -> Self {
        self.end = Some(Box::new(move |trial, evaluation| {
            hook(trial, evaluation).into_result()
        }));
        self
    }

    /// Sets the closure called for each reflection.
    #[must_use]
    pub fn on_reflection_generated<R: IntoResult<()>>(
        mut self,
        hook: impl Fn(&TrialId, &str) -> R + Send + Sync + 'static,
    ) -> Self {
        self.reflection = Some(Box::new(move |trial, text| hook(trial, text).into_result()));
        self
    }
}

impl Hooks for HookFns {
    async fn on_trial_start(&self, trial: &TrialId) -> HookResult {
        self.start.as_ref().map_or(Ok(()), |hook| hook(trial))
    }

    async fn on_trial_end(&self, trial: &TrialId, evaluation: &Evaluation) -> HookResult {
        let hook = self.end.as_ref();
        hook.map_or(Ok(()), |hook| hook(trial, evaluation))
    }

    async fn on_reflection_generated(&self, trial: &TrialId, reflection: &str) -> HookResult {
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

/// [`Hooks`] as a trait object.
pub(crate) trait DynHooks: Send + Sync {
    fn on_trial_start<'a>(&'a self, trial: &'a TrialId) -> BoxFuture<'a, HookResult>;
    fn on_trial_end<'a>(
        &'a self,
        trial: &'a TrialId,
        evaluation: &'a Evaluation,
    ) -> BoxFuture<'a, HookResult>;
    fn on_reflection_generated<'a>(
        &'a self,
        trial: &'a TrialId,
        reflection: &'a str,
    ) -> BoxFuture<'a, HookResult>;
}

impl<T: Hooks> DynHooks for T {
    fn on_trial_start<'a>(&'a self, trial: &'a TrialId) -> BoxFuture<'a, HookResult> {
        Box::pin(Hooks::on_trial_start(self, trial))
    }

    fn on_trial_end<'a>(
        &'a self,
        trial: &'a TrialId,
        evaluation: &'a Evaluation,
    ) -> BoxFuture<'a, HookResult> {
        Box::pin(Hooks::on_trial_end(self, trial, evaluation))
    }

    fn on_reflection_generated<'a>(
        &'a self,
        trial: &'a TrialId,
        reflection: &'a str,
    ) -> BoxFuture<'a, HookResult> {
        Box::pin(Hooks::on_reflection_generated(self, trial, reflection))
    }
}
