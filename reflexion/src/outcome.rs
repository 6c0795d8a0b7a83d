use std::cmp::Ordering;
use std::fmt;

use reflect_types::{Memory, TraceId};
use serde::Serialize;

use crate::evaluation::Evaluation;
use crate::hooks::RunId;
use crate::self_reflection::MemoryEntry;
use crate::trajectory::Trajectory;

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Outcome {
    /// The run's ID, as in its events and hooks.
    pub run_id: RunId,
    /// How the run ended.
    pub status: Status,
    /// All trials, in order, with their reflections.
    pub trials: Vec<Trial>,
    /// The episodic memory at the end, oldest first; see
    /// [`run_with`](crate::Reflexion::run_with).
    pub memory: Vec<MemoryEntry>,
    /// The memories of earlier runs that were recalled, best first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recalled: Vec<Memory>,
    /// Why memories could not be recalled, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recall_error: Option<String>,
    /// The stored traces, in the order of the trials.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trace_ids: Vec<TraceId>,
    /// Traces not stored or processed before the timeout.
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
    /// All trials failed.
    Exhausted,
    /// A part of the loop failed; only in the outcome inside an error.
    Aborted,
}

/// One trial of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Trial {
    /// The record of the trial.
    pub trajectory: Trajectory,
    /// The verdict; `None` only if the evaluator failed.
    pub evaluation: Option<Evaluation>,
    /// The reflection; `None` if there is none, as after a success.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reflection: Option<String>,
    /// The error of the self-reflection, under
    /// [`OnReflectionError::UseFeedback`](crate::OnReflectionError::UseFeedback).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reflection_error: Option<String>,
}

/// A trace that was not stored, or that no memory was made of, in time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PersistError {
    /// The number of the trial, from 1.
    pub trial: u32,
    /// The stored trace, if only its memory is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<TraceId>,
    /// What went wrong.
    pub problem: String,
}

impl fmt::Display for PersistError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (trial, problem) = (self.trial, &self.problem);
        match &self.trace_id {
            None => write!(f, "trial {trial} was not stored: {problem}"),
            Some(id) => write!(
                f,
                "trial {trial} is stored as {id}, without a memory: {problem}"
            ),
        }
    }
}

impl Outcome {
    /// A run without trials.
    pub(crate) fn new(run_id: RunId) -> Self {
        Self {
            run_id,
            status: Status::Aborted,
            trials: Vec::new(),
            memory: Vec::new(),
            recalled: Vec::new(),
            recall_error: None,
            trace_ids: Vec::new(),
            persist_errors: Vec::new(),
        }
    }

    /// Whether the task is done.
    pub fn succeeded(&self) -> bool {
        self.status == Status::Succeeded
    }

    /// The answer of the last trial; empty without a finished trial.
    pub fn response(&self) -> String {
        self.last()
            .map(|trial| trial.trajectory.answer())
            .unwrap_or_default()
    }

    /// The last finished trial.
    pub fn last(&self) -> Option<&Trial> {
        self.trials.last()
    }

    /// The best trial: a success before a failure, then the higher score, then the later trial.
    /// No score ranks below any score.
    pub fn best(&self) -> Option<&Trial> {
        // Of equal elements, `max_by` returns the last.
        self.trials.iter().max_by(|a, b| a.compare(b))
    }

    /// All reflections, in order, including those dropped from the episodic memory.
    pub fn reflections(&self) -> impl Iterator<Item = &str> {
        self.trials
            .iter()
            .filter_map(|trial| trial.reflection.as_deref())
    }
}

impl Trial {
    pub(crate) fn new(trajectory: Trajectory) -> Self {
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

    /// The trial's score, if the evaluator gave one.
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
