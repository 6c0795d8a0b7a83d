use async_trait::async_trait;
use jiff::Timestamp;
use reflect_types::{Arm, Grouping, MemoryId, ModelVerdict, ProjectId, UsageSum, Verdict};
use serde_json::Value;

use crate::error::Result;
use crate::statistics::{Agreement, Rate};

/// Counts for reports.
#[async_trait]
pub trait Tallies {
    /// The numbers of the project's runs that are alike; none without a project.
    async fn tally_runs(&self, project: &ProjectId, query: &TallyQuery) -> Result<Vec<Tally>>;

    /// The tokens of the project's runs, by model and arm; the grouping is ignored.
    async fn tally_usage(&self, project: &ProjectId, query: &TallyQuery)
    -> Result<Vec<UsageTally>>;

    /// The active memories that most reviewed runs were given, at least five each, with the verdicts of
    /// these runs.
    async fn given_memories(&self, project: &ProjectId, limit: usize) -> Result<Vec<MemoryTally>>;

    /// How far a model agrees with people on the runs of the project that both reviewed.
    async fn agreement(&self, project: &ProjectId, model: &str) -> Result<Agreement>;
}

/// The runs to count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TallyQuery {
    /// Only runs stored at this time or later.
    pub since: Option<Timestamp>,
    /// Only runs stored before this time.
    pub until: Option<Timestamp>,
    /// What they are grouped by.
    pub by: Option<Grouping>,
}

/// The number of runs that are alike in all of this.
#[derive(Clone, Debug, PartialEq)]
pub struct Tally {
    /// The month in which they were stored, such as `2026-11`.
    pub month: String,
    /// The value of the grouping; `None` without one.
    pub group: Option<String>,
    /// The side of the comparison with and without memories.
    pub arm: Option<Arm>,
    /// The verdict of the standing review; `None` without a review.
    pub verdict: Option<Verdict>,
    /// The model that gave it; `None` for a person.
    pub model: Option<String>,
    /// The verdict of a model that it overruled.
    pub overruled: Option<ModelVerdict>,
    /// Their number.
    pub runs: u64,
}

/// The tokens of runs with the same model in the same arm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageTally {
    /// The model.
    pub model: Option<String>,
    /// The side of the comparison with and without memories.
    pub arm: Option<Arm>,
    /// Their tokens.
    pub sum: UsageSum,
}

/// The reviewed runs that were given a memory.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryTally {
    /// The memory.
    pub id: MemoryId,
    /// Its task.
    pub task: String,
    /// The verdicts of the runs.
    pub runs: Rate,
}

/// A value of the metadata as the name of a group; `None` for null.
pub(crate) fn shown_metadata(json: &str) -> Option<String> {
    match serde_json::from_str(json) {
        Ok(Value::Null) => None,
        Ok(Value::String(text)) => Some(text),
        _ => Some(json.to_owned()),
    }
}
