use std::fmt;

use super::{BoxError, Outcome};

/// Why a run could not be set up or finished.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReflexionError {
    /// The builder was given options that cannot work.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A part of the loop failed. What was done until then is in `partial`.
    #[error("{stage} failed in trial {trial}")]
    Stage {
        /// The trial it happened in, from 1.
        trial: u32,
        /// The part that failed.
        stage: Stage,
        /// The part's own error.
        #[source]
        source: BoxError,
        /// The trials so far, this one included as far as it got.
        partial: Box<Outcome>,
    },
    /// No trial did the task; only from [`Outcome::into_success`].
    #[error("the task was not done in {} trials", .0.trials.len())]
    Exhausted(Box<Outcome>),
    /// The run is over, but not all of it is stored; only under
    /// [`strict_persist`](super::ReflexionBuilder::strict_persist).
    #[error("the run could not be stored")]
    Persist {
        /// The first problem, a [`reflect_sdk::Error`](crate::Error); all of them are in
        /// [`Outcome::persist_errors`].
        #[source]
        source: BoxError,
        /// All that came of the run.
        outcome: Box<Outcome>,
    },
}

impl ReflexionError {
    /// What was done until the run failed.
    pub fn partial(&self) -> Option<&Outcome> {
        match self {
            Self::Config(_) => None,
            Self::Stage {
                partial: outcome, ..
            }
            | Self::Exhausted(outcome)
            | Self::Persist { outcome, .. } => Some(outcome),
        }
    }

    /// What was done until the run failed.
    pub fn into_partial(self) -> Option<Outcome> {
        match self {
            Self::Config(_) => None,
            Self::Stage {
                partial: outcome, ..
            }
            | Self::Exhausted(outcome)
            | Self::Persist { outcome, .. } => Some(*outcome),
        }
    }

    pub(super) fn partial_mut(&mut self) -> Option<&mut Outcome> {
        match self {
            Self::Config(_) => None,
            Self::Stage {
                partial: outcome, ..
            }
            | Self::Exhausted(outcome)
            | Self::Persist { outcome, .. } => Some(outcome),
        }
    }
}

/// Options that cannot work, and what to do about them.
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
    /// Neither a self-reflection nor a model is set, and a trial may follow a failed one.
    #[error(
        "nothing reflects on failed trials: call `reflect_with`, `self_reflection` (such as \
         `FeedbackReflection`) or `llm`, or set max_trials to 1"
    )]
    NoReflection,
    /// `recall` asks for no memories, or for more than there may be.
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

/// Where a hook stands.
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
