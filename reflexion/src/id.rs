use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

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
