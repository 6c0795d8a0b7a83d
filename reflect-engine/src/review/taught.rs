//! What a store reads before an undo.

use jiff::Timestamp;
use reflect_types::{MemoryId, ModelVerdict, TraceId, Verdict};

use super::context::{RecordedEvent, RowKey};
use super::memory_edit::{LearnedText, MemoryState, RecordedChange};
use super::teacher::Teacher;

/// Everything an undo depends on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaughtProject {
    /// The traces that have, or had, a review with the key and the trace of the selection.
    pub traces: Vec<ReviewHistory>,
    /// The memories of those reviews, the memories with an event of those reviews, and the memories
    /// that the selected key has taught, moved or changed.
    pub memories: Vec<TaughtMemory>,
    /// The memories that the project's skill was written from.
    pub skill_sources: Vec<MemoryId>,
    /// Whether one of those is missing or not active.
    pub skill_is_stale: bool,
    /// The traces of the [silenced key](super::Selection::silenced_key) that a judge may still review.
    pub unjudged: Vec<RowKey>,
}

/// The review of a trace, and what it was before.
#[derive(Clone, Debug, PartialEq)]
pub struct ReviewHistory {
    /// The trace.
    pub trace: RowKey,
    /// Its id.
    pub trace_id: TraceId,
    /// Whether the trace is deleted.
    pub deleted: bool,
    /// What its review was before, oldest first.
    pub past: Vec<PastState>,
    /// Its review.
    pub current: Option<GivenReview>,
}

/// What a trace's review was before.
#[derive(Clone, Debug, PartialEq)]
pub struct PastState {
    /// The stored state.
    pub key: RowKey,
    /// The review, or its withdrawal.
    pub given: GivenReview,
    /// What was learned from it; `None` if nothing was, or if its memory was deleted.
    pub learned: Option<LearnedText>,
}

/// What a memory has from its review.
#[derive(Clone, Debug, PartialEq)]
pub struct LearnedContent {
    /// The text.
    pub learned: LearnedText,
    /// The verdict of the review.
    pub verdict: Verdict,
    /// The learning rate of the review.
    pub alpha: f64,
    /// Who gave the review.
    pub teacher: Teacher,
}

/// A review as it was given, or the withdrawal of one.
#[derive(Clone, Debug, PartialEq)]
pub struct GivenReview {
    /// Who gave it, or withdrew it.
    pub teacher: Teacher,
    /// When.
    pub at: Timestamp,
    /// The review; `None` for a withdrawal.
    pub review: Option<PastReview>,
}

/// A review of a history.
#[derive(Clone, Debug, PartialEq)]
pub struct PastReview {
    /// The review's id. A review that replaces another has the id of the replaced one.
    pub id: String,
    /// Pass or fail.
    pub verdict: Verdict,
    /// How far it moves utilities.
    pub alpha: f64,
    /// The verdict of a model that it replaced.
    pub overruled: Option<ModelVerdict>,
    /// The memory that was learned from it, which may have been deleted since.
    pub memory: Option<MemoryId>,
}

/// A memory with everything that an undo depends on.
#[derive(Clone, Debug, PartialEq)]
pub struct TaughtMemory {
    /// The memory.
    pub key: RowKey,
    /// Its id.
    pub id: MemoryId,
    /// The trace it was learned from.
    pub trace_id: TraceId,
    /// The task of that trace.
    pub task: String,
    /// Its utility.
    pub q: f64,
    /// Whether it is set aside because its review was withdrawn.
    pub withdrawn: bool,
    /// What it shows; `active` while it is withdrawn.
    pub state: MemoryState,
    /// The number of reviews that have rewritten it.
    pub generation: i64,
    /// Its edits, quarantines and restorations, oldest first.
    pub changes: Vec<RecordedChange>,
    /// Who taught it.
    pub teacher: Teacher,
    /// The time of learning.
    pub at: Timestamp,
    /// Its events, also those set aside, oldest first.
    pub events: Vec<TaughtEvent>,
}

/// An event of a memory, with its trace.
#[derive(Clone, Debug, PartialEq)]
pub struct TaughtEvent {
    /// The trace that was given the memory.
    pub trace_id: TraceId,
    /// The event.
    pub event: RecordedEvent,
}
