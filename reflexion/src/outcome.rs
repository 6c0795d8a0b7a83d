use std::cmp::Ordering;

use reflect_types::{Memory, TraceId};
use serde::Serialize;

use super::{Evaluation, MemoryEntry, PersistError, ReflexionError, Trajectory};

/// All that came of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Outcome {
    /// How the run ended.
    pub status: Status,
    /// Every trial, in order, with its reflection whether it is still remembered or not.
    pub trials: Vec<Trial>,
    /// What is remembered at the end, oldest first; see
    /// [`run_with`](super::Reflexion::run_with).
    pub memory: Vec<MemoryEntry>,
    /// What earlier runs taught, as [`recall`](super::ReflexionBuilder::recall) found it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recalled: Vec<Memory>,
    /// Why nothing was recalled, where the memories could not be asked for or did not come in time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recall_error: Option<String>,
    /// What [`persist`](super::ReflexionBuilder::persist) stored, in the order of the trials.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trace_ids: Vec<TraceId>,
    /// What it did not store, or not in time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub persist_errors: Vec<PersistError>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Status {
    /// The last trial did the task.
    Succeeded,
    /// No trial did, and there are no more.
    Exhausted,
    /// Something failed in between; only within an error.
    Aborted,
}

/// One trial, with what was made of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Trial {
    /// What was done.
    pub trajectory: Trajectory,
    /// The verdict; `None` only where the evaluator failed.
    pub evaluation: Option<Evaluation>,
    /// What the trial teaches; `None` where nothing was written, as after a success.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reflection: Option<String>,
    /// Why there is no reflection of its own, under
    /// [`OnReflectionError::UseFeedback`](super::OnReflectionError).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reflection_error: Option<String>,
}

impl Outcome {
    /// Whether the task is done.
    pub fn succeeded(&self) -> bool {
        self.status == Status::Succeeded
    }

    /// The last trial's answer; `""` where no trial was finished.
    pub fn response(&self) -> String {
        self.last()
            .map(|trial| trial.trajectory.answer())
            .unwrap_or_default()
    }

    /// The last trial that was finished.
    pub fn last(&self) -> Option<&Trial> {
        self.trials.last()
    }

    /// The best trial: a success before a failure, then the higher score, then the later one.
    /// A trial without a score counts less than one with any.
    pub fn best(&self) -> Option<&Trial> {
        // Of equal elements, `max_by` gives the last.
        self.trials.iter().max_by(|a, b| a.compare(b))
    }

    /// The reflections, in order, whether still remembered or not.
    pub fn reflections(&self) -> impl Iterator<Item = &str> {
        self.trials
            .iter()
            .filter_map(|trial| trial.reflection.as_deref())
    }

    /// The outcome if the task is done, otherwise [`ReflexionError::Exhausted`] with the outcome.
    pub fn into_success(self) -> Result<Self, ReflexionError> {
        if self.succeeded() {
            Ok(self)
        } else {
            Err(ReflexionError::Exhausted(Box::new(self)))
        }
    }
}

impl Trial {
    pub(super) fn new(trajectory: Trajectory) -> Self {
        Self {
            trajectory,
            evaluation: None,
            reflection: None,
            reflection_error: None,
        }
    }

    /// The trial's number, from 1.
    pub fn number(&self) -> u32 {
        self.trajectory.trial
    }

    /// Whether the trial did the task.
    pub fn success(&self) -> bool {
        self.evaluation.as_ref().is_some_and(|e| e.success)
    }

    /// The trial's score, where the evaluator gave one.
    pub fn score(&self) -> Option<f64> {
        self.evaluation.as_ref()?.score
    }

    fn compare(&self, other: &Self) -> Ordering {
        let scores = || match (self.score(), other.score()) {
            (Some(a), Some(b)) => a.total_cmp(&b),
            (a, b) => a.is_some().cmp(&b.is_some()),
        };
        self.success().cmp(&other.success()).then_with(scores)
    }
}
