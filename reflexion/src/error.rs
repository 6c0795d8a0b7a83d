use std::fmt;

use crate::erased::BoxError;
use crate::outcome::Outcome;

/// Why a loop could not be built, or a run not finished.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReflexionError {
    /// The builder's options cannot work.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A part of the loop failed. The trials so far are in `partial`.
    #[error("{stage} failed in trial {trial}")]
    Stage {
        /// The number of the trial, from 1.
        trial: u32,
        /// The part that failed.
        stage: Stage,
        /// The part's own error.
        #[source]
        source: BoxError,
        /// The trials so far, including the unfinished one.
        partial: Box<Outcome>,
    },
    /// All trials failed; only from [`Outcome::into_success`].
    #[error("the task was not done in {} trials", .0.trials.len())]
    Exhausted(Box<Outcome>),
    /// The run is over, but not all of it is stored; only with `strict_persist` of the builder
    /// (feature `memory`).
    #[error("the run could not be stored")]
    Persist {
        /// The first error, a `reflect_sdk::Error`; all of them are in
        /// [`Outcome::persist_errors`].
        #[source]
        source: BoxError,
        /// The outcome of the run.
        outcome: Box<Outcome>,
    },
    /// The blocking run could not be started.
    #[error("no runtime or thread for a blocking run")]
    Runtime(#[source] std::io::Error),
}

impl ReflexionError {
    /// The outcome so far.
    pub fn partial(&self) -> Option<&Outcome> {
        match self {
            Self::Config(_) | Self::Runtime(_) => None,
            Self::Stage { partial, .. } => Some(partial),
            Self::Exhausted(outcome) | Self::Persist { outcome, .. } => Some(outcome),
        }
    }

    /// The outcome so far.
    pub fn into_partial(self) -> Option<Outcome> {
        match self {
            Self::Config(_) | Self::Runtime(_) => None,
            Self::Stage { partial, .. } => Some(*partial),
            Self::Exhausted(outcome) | Self::Persist { outcome, .. } => Some(*outcome),
        }
    }
}

impl Outcome {
    /// The outcome if the task is done, otherwise [`ReflexionError::Exhausted`].
    pub fn into_success(self) -> Result<Self, ReflexionError> {
        if self.succeeded() {
            Ok(self)
        } else {
            Err(ReflexionError::Exhausted(Box::new(self)))
        }
    }
}

/// Options that cannot work, with the fix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// `max_trials` is 0.
    #[error("max_trials is 0, so nothing would be tried: set it to 1 or more")]
    NoTrials,
    /// `trial_timeout` is zero.
    #[error("trial_timeout is zero, so every trial would fail: set a longer one, or none")]
    NoTime,
    /// Neither an evaluator nor a model is set.
    #[error("nothing judges the trials: call `evaluate_with`, `evaluator` or `llm`")]
    NoEvaluator,
    /// Neither a self-reflection nor a model is set, and failed trials are reflected on.
    #[error(
        "nothing reflects on failed trials: call `reflect_with`, `self_reflection` (such as \
         `FeedbackReflection`) or `llm`, or set max_trials to 1"
    )]
    NoReflection,
    /// `recall` asks for 0 memories, or for more than 100.
    #[error("recall asks for {0} memories: ask for 1 to 100, or leave `recall` out")]
    RecallLimit(u32),
}

/// A part of the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Stage {
    /// The actor.
    Actor,
    /// The evaluator.
    Evaluator,
    /// The self-reflection.
    Reflection,
    /// A hook.
    Hook(HookPoint),
}

/// When a hook is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HookPoint {
    /// Before a trial.
    TrialStart,
    /// After a reflection.
    ReflectionGenerated,
    /// After a trial.
    TrialEnd,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Actor => "the actor",
            Self::Evaluator => "the evaluator",
            Self::Reflection => "the self-reflection",
            Self::Hook(HookPoint::TrialStart) => "the hook on_trial_start",
            Self::Hook(HookPoint::ReflectionGenerated) => "the hook on_reflection_generated",
            Self::Hook(HookPoint::TrialEnd) => "the hook on_trial_end",
        })
    }
}
