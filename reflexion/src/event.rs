use serde::{Deserialize, Serialize};

use crate::id::RunId;

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
