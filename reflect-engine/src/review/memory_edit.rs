//! Changes of a memory's text and status by the holders of keys.

use jiff::Timestamp;
use reflect_types::{ChangeKind, KeyId, MemoryStatus, MemoryUpdate, Reflection, ReflectionEdit};

use super::context::RowKey;
use crate::error::{Error, Result};

/// What a memory shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryState {
    /// Its text.
    pub reflection: Reflection,
    /// Whether it may be part of an answer.
    pub status: MemoryStatus,
}

/// The text of a memory without its edits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LearnedText {
    /// The text.
    pub reflection: Reflection,
    /// The number of reviews that had rewritten the memory before. Edits of an older generation do
    /// not change this text.
    pub generation: i64,
}

/// A stored change of a memory.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedChange {
    /// The change.
    pub key: RowKey,
    /// The API key of the change.
    pub key_id: Option<KeyId>,
    /// The time of the change.
    pub at: Timestamp,
    /// The memory's generation at that time.
    pub generation: i64,
    /// The memory's status before.
    pub status_before: MemoryStatus,
    /// What was done.
    pub act: Act,
}

/// What a change does.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "one exists per call, and it is moved, not stored"
)]
pub enum Act {
    /// Sets fields of the text.
    Edit {
        /// The fields.
        edit: ReflectionEdit,
        /// The text before.
        before: Reflection,
    },
    /// Sets the status.
    SetStatus(MemoryStatus),
}

/// A change to store.
#[derive(Clone, Debug, PartialEq)]
pub struct NewChange {
    /// Its kind.
    pub kind: ChangeKind,
    /// The memory's status before.
    pub status_before: MemoryStatus,
    /// What was done.
    pub act: Act,
}

/// Changes what a memory shows, and returns the changes to store. A change that repeats the last one
/// of its kind by the same key is not stored again, except a restoration: its time says which runs a person
/// knew. Fails if the memory says neither what the caller knows nor what the caller wants it to say.
pub fn edit_memory(
    state: &mut MemoryState,
    generation: i64,
    changes: &[RecordedChange],
    update: &MemoryUpdate,
    by: Option<&KeyId>,
) -> Result<Vec<NewChange>> {
    let said = state.reflection.clone().neutral();
    let edit = update.reflection.as_ref();
    let known = update.known.as_ref();
    if known.is_some_and(|known| !known.is_known(&said, edit)) {
        let problem = "the memory was edited meanwhile, and nothing was changed: read it again";
        return Err(Error::Conflict(problem.to_owned()));
    }
    let mut new = Vec::new();
    if let Some(edit) = &update.reflection {
        let is_edit = |change: &&RecordedChange| matches!(change.act, Act::Edit { .. });
        let repeats = changes.iter().rfind(is_edit).is_some_and(|last| {
            let same = matches!(&last.act, Act::Edit { edit: known, .. } if known == edit);
            same && last.key_id.as_ref() == by && last.generation == generation
        });
        if !repeats {
            new.push(NewChange {
                kind: ChangeKind::Edited,
                status_before: state.status.clone(),
                act: Act::Edit {
                    edit: edit.clone(),
                    before: state.reflection.clone(),
                },
            });
        }
        edit.apply(&mut state.reflection);
    }
    if let Some(status) = &update.status {
        let sets_status = |change: &&RecordedChange| matches!(change.act, Act::SetStatus(_));
        let repeats = changes.iter().rfind(sets_status).is_some_and(|last| {
            last.act == Act::SetStatus(status.clone()) && last.key_id.as_ref() == by
        });
        if !repeats || *status == MemoryStatus::Active {
            new.push(NewChange {
                kind: match status {
                    MemoryStatus::Quarantined => ChangeKind::Quarantined,
                    _ => ChangeKind::Restored,
                },
                status_before: state.status.clone(),
                act: Act::SetStatus(status.clone()),
            });
        }
        state.status = status.clone();
    }
    if update.merge_into.is_some() {
        new.push(NewChange {
            kind: ChangeKind::Merged,
            status_before: state.status.clone(),
            act: Act::SetStatus(MemoryStatus::Active),
        });
        state.status = MemoryStatus::Active;
    }
    Ok(new)
}
