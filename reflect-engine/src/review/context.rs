//! What a store reads before a review is decided.

use jiff::Timestamp;
use reflect_types::{IngestStatus, MemoryId, ModelVerdict};

use super::action::{NewReview, ReviewVersion};
use super::selection::PastUndo;
use super::teacher::Teacher;
use crate::learn::{Move, Step};

/// A row's key inside its store.
pub type RowKey = i64;

/// Everything a decision about a trace's review depends on.
#[derive(Clone, Debug, PartialEq)]
pub struct ReviewContext {
    /// The trace.
    pub trace: TraceState,
    /// The trace's review.
    pub review: Option<ReviewVersion>,
    /// The trace's job.
    pub job: Option<JobState>,
    /// The memory named by [`TraceState::created_memory`], if it is stored.
    pub memory: Option<RowKey>,
    /// The memories whose utility the review moves.
    pub memories: AffectedMemories,
    /// The undos that may cover reviews of the trace.
    pub undone: Vec<PastUndo>,
}

impl ReviewContext {
    /// The context of a trace that is being inserted.
    pub fn unreviewed(given: Vec<ShownMemory>) -> Self {
        Self {
            trace: TraceState::default(),
            review: None,
            job: None,
            memory: None,
            memories: AffectedMemories::Shown(given),
            undone: Vec::new(),
        }
    }

    pub(super) fn is_working(&self) -> bool {
        let status = &self.trace.ingest_status;
        matches!(status, IngestStatus::Queued | IngestStatus::Processing)
    }

    /// Whether an undo came between the review and now.
    pub(super) fn is_undone(&self, review: &NewReview) -> bool {
        let (teacher, at) = (review.teacher(), review.created_at);
        self.undone.iter().any(|undo| undo.covers(&teacher, at))
    }

    pub(super) fn is_held_by(&self, owner: &str) -> bool {
        let held_by = self.job.as_ref().and_then(|job| job.owner.as_deref());
        held_by == Some(owner)
    }
}

/// The columns of a trace that a review changes. A store writes them back together.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceState {
    /// Whether its review was learned from, or teaches nothing.
    pub reviewed: bool,
    /// Where the work on the review is.
    pub ingest_status: IngestStatus,
    /// The number of attempts at it.
    pub ingest_attempts: u32,
    /// Why the last attempt failed.
    pub last_ingest_error: Option<String>,
    /// The memory that was learned.
    pub created_memory: Option<MemoryId>,
    /// Memories the trace was given that do not exist.
    pub ignored: Vec<MemoryId>,
    /// The verdict of a model whose review was withdrawn.
    pub withdrawn_verdict: Option<ModelVerdict>,
}

impl Default for TraceState {
    fn default() -> Self {
        Self {
            reviewed: false,
            ingest_status: IngestStatus::Completed,
            ingest_attempts: 0,
            last_ingest_error: None,
            created_memory: None,
            ignored: Vec::new(),
            withdrawn_verdict: None,
        }
    }
}

/// A trace's job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobState {
    /// The owner of its lease.
    pub owner: Option<String>,
}

/// The memories whose utility a review moves, or has moved.
#[derive(Clone, Debug, PartialEq)]
pub enum AffectedMemories {
    /// Of a trace whose review has taught nothing, or that has none: the memories it was given, in order.
    Shown(Vec<ShownMemory>),
    /// Of a trace whose review has taught something: the memories of its project with an event of its review.
    Moved(Vec<MovedMemory>),
}

impl Default for AffectedMemories {
    fn default() -> Self {
        Self::Shown(Vec::new())
    }
}

/// A memory that a trace was given.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownMemory {
    /// The memory's id, as the trace names it.
    pub id: MemoryId,
    /// The memory's utility; `None` where the project has no such memory.
    pub utility: Option<Utility>,
}

/// The utility of a stored memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Utility {
    /// The memory.
    pub memory: RowKey,
    /// Its utility.
    pub q: f64,
    /// The number of its events.
    pub uses: u64,
    /// Whether it is set aside because its review was withdrawn: it is moved, and counts as ignored.
    pub withdrawn: bool,
}

/// A memory that a review has moved.
#[derive(Clone, Debug, PartialEq)]
pub struct MovedMemory {
    /// The memory.
    pub memory: RowKey,
    /// All its events, of any review, oldest first.
    pub events: Vec<RecordedEvent>,
}

/// A stored event of a memory.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedEvent {
    /// The event.
    pub key: RowKey,
    /// The review that caused it.
    pub review_id: String,
    /// Who gave the review.
    pub teacher: Teacher,
    /// The time of learning.
    pub at: Timestamp,
    /// Whether it does not count, because its review is withdrawn.
    pub void: bool,
    /// The review's move.
    pub change: Move,
    /// The utility before and after.
    pub step: Step,
}
