use std::fmt;
use std::future::Future;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::erased::{BoxError, BoxFuture};
use crate::error::HookPoint;
use crate::evaluation::Evaluation;

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

/// An event of a run, for a log. In JSON:
/// `{"run_id": "0198…", "kind": "trial_start", "data": {"trial_number": 1}}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Event {
    /// The run.
    pub run_id: RunId,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What happened in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "data", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventKind {
    /// A trial starts.
    TrialStart {
        /// The trial's number, from 1.
        trial_number: u32,
    },
    /// The self-reflection on a failed trial is written.
    ReflectionGenerated {
        /// The number of the failed trial.
        trial_number: u32,
        /// The reflection.
        reflection: String,
    },
    /// A trial has ended, whether or not another follows.
    TrialEnd {
        /// The trial's number, from 1.
        trial_number: u32,
        /// Whether the task is done.
        success: bool,
        /// The evaluator's feedback; absent from the JSON if empty.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        feedback: String,
    },
}

impl Event {
    /// An event of a run.
    pub fn new(run_id: impl Into<RunId>, kind: EventKind) -> Self {
        Self {
            run_id: run_id.into(),
            kind,
        }
    }
}

/// The identity of a run: the same in its events, hooks, attempts, stored traces and outcome.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(String);

/// The identity of a trial, as [`Hooks`](crate::Hooks) get it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TrialId {
    /// The run that the trial is part of.
    pub run_id: RunId,
    /// The trial's number, from 1.
    pub number: u32,
}

impl RunId {
    /// A new, unique ID. IDs sort by the time they were created.
    pub(crate) fn generate() -> Self {
        Self(Uuid::now_v7().to_string())
    }

    /// The ID as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TrialId {
    /// The ID of trial `number` of a run.
    pub fn new(run_id: impl Into<RunId>, number: u32) -> Self {
        Self {
            run_id: run_id.into(),
            number,
        }
    }
}

impl From<String> for RunId {
    fn from(id: String) -> Self {
        Self(id)
    }
}

impl From<&str> for RunId {
    fn from(id: &str) -> Self {
        Self(id.to_owned())
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}
