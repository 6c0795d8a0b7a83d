//! What a store writes after a review is decided.

use jiff::Timestamp;
use reflect_types::MemoryId;

use super::action::{NewMemory, NewReview, Withdrawal};
use super::context::{RowKey, TraceState};
use super::teacher::Teacher;
use crate::learn::{Move, Step};

/// The rows that a decision changes, to be written in the order of the fields.
#[derive(Clone, Debug, PartialEq)]
pub struct Writes {
    /// What is recorded of the review that no longer stands.
    pub past: PastWrite,
    /// Memories whose utility changes, with their events.
    pub utilities: Vec<UtilityWrite>,
    /// The memory of the trace.
    pub memory: MemoryWrite,
    /// The review of the trace.
    pub review: ReviewWrite,
    /// The reflection of the trace.
    pub job: JobWrite,
    /// Whether the judgement of the trace is deleted.
    pub ends_judgement: bool,
    /// The trace.
    pub trace: TraceState,
}

/// A change of the history of a trace's review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PastWrite {
    /// Changes nothing.
    Keep,
    /// Appends the review of the trace, which is being replaced, with the content of its memory.
    Replaced,
    /// Appends the review of the trace and its withdrawal.
    Withdrawn(Withdrawal),
}

/// The new utility of a memory. It is also a change that indexes have to see.
#[derive(Clone, Debug, PartialEq)]
pub struct UtilityWrite {
    /// The memory.
    pub memory: RowKey,
    /// Its utility.
    pub q: f64,
    /// The number of its events.
    pub uses: u64,
    /// The events that change.
    pub events: Vec<EventWrite>,
}

/// A change of an event.
#[derive(Clone, Debug, PartialEq)]
pub enum EventWrite {
    /// Inserts an event of this trace after the others.
    Append(NewEvent),
    /// Replaces the numbers of an event, which counts from now on; its review, trace and time stay.
    Update {
        /// The event.
        key: RowKey,
        /// Its move.
        change: Move,
        /// The utility before and after.
        step: Step,
        /// Who causes it from now on; `None` changes nothing.
        teacher: Option<Teacher>,
    },
    /// Makes an event void: it does not count, and keeps its place.
    Void(RowKey),
    /// Deletes an event.
    Remove(RowKey),
}

/// An event to store.
#[derive(Clone, Debug, PartialEq)]
pub struct NewEvent {
    /// The review that causes it.
    pub review_id: String,
    /// Who gives the review.
    pub teacher: Teacher,
    /// The review's move.
    pub change: Move,
    /// The utility before and after.
    pub step: Step,
    /// The time of learning.
    pub created_at: Timestamp,
}

/// A change of the trace's memory.
#[derive(Clone, Debug, PartialEq)]
pub enum MemoryWrite {
    /// Changes nothing.
    Keep,
    /// Inserts the memory, with [the initial utility](crate::learn::INITIAL).
    Insert {
        /// The memory.
        memory: NewMemory,
        /// Whether the trace passed.
        success: bool,
        /// The learning rate of the review.
        alpha: f64,
        /// Who teaches it.
        teacher: Teacher,
    },
    /// Replaces task, reflection, vector, success, learning rate and teacher of a memory; its id, utility and time stay.
    Rewrite {
        /// The memory to replace.
        key: RowKey,
        /// The new content.
        memory: NewMemory,
        /// Whether the trace passed.
        success: bool,
        /// The learning rate of the review.
        alpha: f64,
        /// Who teaches it.
        teacher: Teacher,
    },
    /// Sets the memory aside: no query or list returns it. It keeps learning, so that an undo can restore
    /// it. The traces with an event of it ignore it from now on.
    Withdraw(MemoryId),
}

/// A change of the trace's review.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "one exists per call, and it is moved, not stored"
)]
pub enum ReviewWrite {
    /// Changes nothing.
    Keep,
    /// Inserts the review, or replaces the one there is.
    Put(NewReview),
    /// Deletes the review.
    Remove,
}

/// A change of the trace's job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobWrite {
    /// Changes nothing.
    Keep,
    /// Inserts a job without an owner, or replaces the one there is.
    Queue {
        /// When it may be claimed.
        due: Timestamp,
        /// The attempts made so far.
        attempts: u32,
    },
    /// Deletes the job.
    Remove,
}
