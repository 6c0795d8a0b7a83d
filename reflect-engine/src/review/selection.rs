//! What an undo covers.

use jiff::Timestamp;
use reflect_types::{KeyId, Reviewer, TraceId};

use super::teacher::Teacher;

/// What to undo. Every condition that is set must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Taught by this key.
    pub key_id: Option<KeyId>,
    /// Taught by this reviewer.
    pub reviewer: Option<Reviewer>,
    /// Taught by the review of this trace.
    pub trace_id: Option<TraceId>,
    /// Taught at this time or later.
    pub since: Option<Timestamp>,
    /// Taught before this time.
    pub until: Option<Timestamp>,
}

impl Selection {
    pub(super) fn covers(&self, trace: &TraceId, teacher: &Teacher, at: Timestamp) -> bool {
        self.trace_id.as_ref().is_none_or(|id| id == trace) && self.covers_teacher(teacher, at)
    }

    fn covers_teacher(&self, teacher: &Teacher, at: Timestamp) -> bool {
        let by_key = |key| teacher.key_id.as_ref() == Some(key);
        self.key_id.as_ref().is_none_or(by_key)
            && self
                .reviewer
                .as_ref()
                .is_none_or(|reviewer| *reviewer == teacher.reviewer)
            && self.includes(at)
    }

    /// The key whose unreviewed traces no judge reviews after an undo: a judgement of them would teach
    /// in the name of that key.
    pub fn silenced_key(&self) -> Option<&KeyId> {
        let everything = self.reviewer.is_none() && self.until.is_none();
        self.key_id.as_ref().filter(|_| everything)
    }

    /// Whether it covers a change of a memory, which neither a reviewer nor a trace has caused.
    pub(super) fn covers_change(&self, by: Option<&KeyId>, at: Timestamp) -> bool {
        self.key_id.as_ref().is_none_or(|key| by == Some(key))
            && self.reviewer.is_none()
            && self.trace_id.is_none()
            && self.includes(at)
    }

    fn includes(&self, at: Timestamp) -> bool {
        self.since.is_none_or(|since| since <= at) && self.until.is_none_or(|until| at < until)
    }
}

/// An undo that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastUndo {
    /// What was undone.
    pub selection: Selection,
    /// When.
    pub at: Timestamp,
}

impl PastUndo {
    /// Whether a review of a trace that the selection may name was given before the undo and is
    /// selected.
    pub fn covers(&self, teacher: &Teacher, given_at: Timestamp) -> bool {
        given_at < self.at && self.selection.covers_teacher(teacher, given_at)
    }
}
