use jiff::Timestamp;
use reflect_types::{Arm, IngestStatus, KeyId, MemoryId, Message, Metadata, TraceId, Usage};

use crate::review::{LearnedReview, NewReview};

/// A trace to store.
#[derive(Clone, Debug, PartialEq)]
pub struct NewTrace {
    /// The trace's id.
    pub id: TraceId,
    /// The task of the agent.
    pub task: String,
    /// The steps of the run.
    pub trajectory: Vec<Message>,
    /// The agent's answer, or `""`.
    pub final_response: String,
    /// The memories the agent was given, as it named them.
    pub retrieved_memory_ids: Vec<MemoryId>,
    /// The agent's model.
    pub model: Option<String>,
    /// The caller's metadata.
    pub metadata: Metadata,
    /// The policy or rules of the run.
    pub reference_context: Option<String>,
    /// The side of the comparison with and without memories.
    pub arm: Option<Arm>,
    /// The run that it was a part of.
    pub parent_run_id: Option<String>,
    /// The session that it belongs to.
    pub session_id: Option<String>,
    /// Its tokens.
    pub usage: Option<Usage>,
    /// The caller's key of this submission, which is the ID of the run.
    pub idempotency_key: Option<String>,
    /// The API key it is recorded with.
    pub key_id: Option<KeyId>,
    /// Whether a missing project is created.
    pub creates_project: bool,
    /// The time of the submission.
    pub created_at: Timestamp,
}

/// The review that a trace is stored with.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "one exists per call, and it is moved, not stored"
)]
pub enum Intake {
    /// None: the trace waits for a review.
    Unreviewed,
    /// None yet: a model is to judge the trace, and the job for it is queued.
    Unjudged,
    /// A review whose memory is still to be written: a job is queued.
    Queued(NewReview),
    /// A review and its memory.
    Learned(LearnedReview),
}

impl Intake {
    /// The status that the receipt reports.
    pub fn ingest_status(&self) -> IngestStatus {
        match self {
            Self::Queued(_) => IngestStatus::Queued,
            Self::Unreviewed | Self::Unjudged | Self::Learned(_) => IngestStatus::Completed,
        }
    }
}

/// A deletion of traces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceDeletion {
    /// The traces. Unknown ones are skipped.
    pub ids: Vec<TraceId>,
    /// Whether the memories learned from them are deleted too.
    pub with_memories: bool,
    /// The key that must have recorded all of them; `None` for any.
    pub author: Option<KeyId>,
    /// The key that must have taught a memory, in every review of it, for the memory to be deleted;
    /// `None` for any.
    pub teacher: Option<KeyId>,
    /// The key that deletes them.
    pub key_id: Option<KeyId>,
    /// When.
    pub at: Timestamp,
}
