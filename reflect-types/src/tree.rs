//! Runs within runs.

use serde::{Deserialize, Serialize};

use crate::id::TraceId;
use crate::integer;
use crate::reviewer::Reviewer;
use crate::trace::IngestStatus;
use crate::verdict::Verdict;

/// The reply to `GetTraceTree`: a run with those that it is a part of, and those within them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TraceTree {
    /// The run around the outermost one, where it has not arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing_run_id: Option<String>,
    /// The runs that it is a part of, outermost first, and then the run itself; each below it is followed by those
    /// within it, oldest first.
    pub runs: Vec<TreeRun>,
    /// Whether there are more runs than these.
    #[serde(default)]
    pub more: bool,
}

impl TraceTree {
    /// The most runs above one that its tree has.
    pub const MAX_ABOVE: usize = 100;
    /// The most runs below one that its tree has.
    pub const MAX_WITHIN: usize = 1_000;
}

/// A run in a tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TreeRun {
    /// The number of runs that it is within.
    #[serde(deserialize_with = "integer::read")]
    pub depth: u32,
    /// Its trace.
    #[serde(flatten)]
    pub trace: TraceOverview,
}

/// A trace without its long fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TraceOverview {
    /// The trace.
    #[cfg_attr(feature = "openapi", schema(schema_with = crate::openapi::id))]
    pub id: TraceId,
    /// The beginning of its task.
    pub task: String,
    /// The model that ran.
    pub model: Option<String>,
    /// When it was stored, in RFC 3339.
    #[cfg_attr(feature = "openapi", schema(schema_with = crate::openapi::time))]
    pub created_at: String,
    /// The state of its ingestion.
    pub ingest_status: IngestStatus,
    /// The verdict of its review.
    pub verdict: Option<Verdict>,
    /// Who gave the review.
    pub reviewer: Option<Reviewer>,
    /// The number of memories it was given.
    #[serde(deserialize_with = "integer::read")]
    pub given: u64,
}

impl TraceOverview {
    /// The longest beginning of a task, in characters.
    pub const MAX_TASK: usize = 300;
}
