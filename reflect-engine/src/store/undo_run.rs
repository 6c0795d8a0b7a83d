use jiff::Timestamp;
use reflect_types::{KeyId, Undo, UndoRecord, UndoReport};

use crate::clock;

/// Whether an undo is only planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UndoRun {
    /// The changes are reported and not made.
    Dry,
    /// The changes are made, if their digest is the expected one.
    Real {
        /// The [`digest`](reflect_types::UndoReport::digest) of a dry run; `None` for any.
        expect: Option<String>,
        /// The record that it leaves if something changes; `None` for none.
        record: Option<Box<NewUndoRecord>>,
    },
}

/// Who asked for an undo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewUndoRecord {
    /// The record's id.
    pub id: String,
    /// The API key that undoes.
    pub key_id: Option<KeyId>,
    /// What was asked.
    pub request: Undo,
}

impl NewUndoRecord {
    /// The record of an undo with this result.
    pub(super) fn record(&self, report: &UndoReport, now: Timestamp) -> UndoRecord {
        UndoRecord {
            id: self.id.clone(),
            key_id: self.key_id.clone(),
            created_at: clock::text(now),
            request: self.request.clone(),
            totals: report.full_totals(),
            events: report.events,
            hidden: report.hidden,
        }
    }
}
