//! The rules of a review: which reviews are accepted, and what each one changes.
//!
//! Everything here is pure. A store reads a [`ReviewContext`], calls [`decide`] and writes the
//! [`Writes`], all in one transaction; it adds no rule of its own. The engine asks `admit` before
//! it spends a model's time on a review that would be refused.

mod action;
mod admission;
mod context;
mod decide;
mod digest;
mod memory_edit;
mod moves;
mod refusal;
mod rewind;
mod selection;
mod taught;
mod teacher;
#[cfg(test)]
mod tests;
mod undo;
mod undo_edits;
mod writes;

pub use action::{
    Action, Basis, LearnedReview, NewMemory, NewReview, NextAttempt, ReviewVersion, Setback,
    Withdrawal,
};
pub(crate) use admission::{Admission, admit, admit_change, overrides, overruled, version};
pub use context::{
    AffectedMemories, JobState, MovedMemory, RecordedEvent, ReviewContext, RowKey, ShownMemory,
    TraceState, Utility,
};
pub use decide::{decide, decide_new};
pub use memory_edit::{Act, LearnedText, MemoryState, NewChange, RecordedChange, edit_memory};
pub use refusal::{Decision, Refusal};
pub use rewind::{MemoryLink, Outcome, TraceChange, WithdrawnVerdict};
pub use selection::{PastUndo, Selection};
pub use taught::{
    GivenReview, LearnedContent, PastReview, PastState, ReviewHistory, TaughtEvent, TaughtMemory,
    TaughtProject,
};
pub use teacher::Teacher;
pub use undo::{UndoChanges, undo};
pub use undo_edits::{ChangeWrite, RestoredState};
pub use writes::{
    EventWrite, JobWrite, MemoryWrite, NewEvent, PastWrite, ReviewWrite, UtilityWrite, Writes,
};

// Their earlier names, for stores that still use them.
