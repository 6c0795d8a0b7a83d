use std::future::Future;

use crate::erased::{BoxError, BoxFuture};
use crate::error::HookPoint;
use crate::evaluation::Evaluation;
use crate::id::TrialId;

/// The result of a hook. An `Err` ends the run; the error holds the trials so far.
pub type HookResult = Result<(), BoxError>;

/// Callbacks at the turning points of a run. Every method has a default that does nothing.
///
/// The order within a trial is: start, reflection (if the trial failed and another follows), end.
///
/// ```
/// use reflexion::{Evaluation, HookResult, Hooks, TrialId};
///
/// struct StopAfterTwo;
///
/// impl Hooks for StopAfterTwo {
///     async fn on_trial_end(&self, trial: &TrialId, evaluation: &Evaluation) -> HookResult {
///         match (trial.number, evaluation.success) {
///             (2, false) => Err("two failures are enough".into()),
///             _ => Ok(()),
///         }
///     }
/// }
/// ```
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

/// A call of a hook.
#[derive(Clone, Copy)]
pub(crate) enum HookCall<'a> {
    TrialStart,
    ReflectionGenerated(&'a str),
    TrialEnd(&'a Evaluation),
}

impl HookCall<'_> {
    pub(crate) fn point(self) -> HookPoint {
        match self {
            Self::TrialStart => HookPoint::TrialStart,
            Self::ReflectionGenerated(_) => HookPoint::ReflectionGenerated,
            Self::TrialEnd(_) => HookPoint::TrialEnd,
        }
    }
}

/// [`Hooks`] as a trait object.
pub(crate) trait DynHooks: Send + Sync {
    fn call<'a>(&'a self, trial: &'a TrialId, call: HookCall<'a>) -> BoxFuture<'a, HookResult>;
}

impl<T: Hooks> DynHooks for T {
    fn call<'a>(&'a self, trial: &'a TrialId, call: HookCall<'a>) -> BoxFuture<'a, HookResult> {
        match call {
            HookCall::TrialStart => Box::pin(self.on_trial_start(trial)),
            HookCall::ReflectionGenerated(text) => {
                Box::pin(self.on_reflection_generated(trial, text))
            }
            HookCall::TrialEnd(evaluation) => Box::pin(self.on_trial_end(trial, evaluation)),
        }
    }
}
