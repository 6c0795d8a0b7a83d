//! What an undo makes of a memory's text and status: a fold of the remaining changes over what was
//! learned.

use reflect_types::{MemoryStatus, Reflection};

use super::context::RowKey;
use super::memory_edit::{Act, LearnedText};
use super::selection::Selection;
use super::taught::TaughtMemory;

/// What becomes of a memory's text, status and changes by an undo.
#[derive(Clone, Debug, PartialEq)]
pub struct RestoredState {
    /// The memory.
    pub memory: RowKey,
    /// Its text.
    pub reflection: Reflection,
    /// Its status; `None` while it stays withdrawn.
    pub status: Option<MemoryStatus>,
    /// Whether it gets the text of an earlier review.
    pub is_rewritten: bool,
    /// The changes to delete.
    pub forget: Vec<RowKey>,
    /// The changes that have another basis from now on.
    pub changes: Vec<ChangeWrite>,
}

/// The new basis of a change.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangeWrite {
    /// The change.
    pub key: RowKey,
    /// The memory's generation.
    pub generation: i64,
    /// The memory's status before.
    pub status_before: MemoryStatus,
    /// Of an edit: the text before.
    pub before: Option<Reflection>,
}

/// Replays the changes of a memory without the selected ones, over the text of an earlier review if
/// the memory gets one. `None` if nothing changes.
pub(super) fn take_back(
    memory: &TaughtMemory,
    earlier: Option<&LearnedText>,
    selection: &Selection,
) -> Option<RestoredState> {
    let (gone, kept): (Vec<_>, Vec<_>) = memory
        .changes
        .iter()
        .partition(|change| selection.covers_change(change.key_id.as_ref(), change.at));
    if gone.is_empty() && earlier.is_none() {
        return None;
    }
    let LearnedText {
        mut reflection,
        generation,
    } = earlier.cloned().unwrap_or_else(|| learned(memory));
    let first = memory.changes.first();
    let mut status = first.map_or(&memory.state.status, |change| &change.status_before);
    let mut writes = Vec::new();
    for change in kept {
        let mut write = ChangeWrite {
            key: change.key,
            generation: change.generation,
            status_before: status.clone(),
            before: None,
        };
        let mut same = *status == change.status_before;
        match &change.act {
            Act::SetStatus(set) => status = set,
            Act::Edit { before, .. } if change.generation < generation => {
                write.before = Some(before.clone());
            }
            Act::Edit { edit, before } => {
                same &= reflection == *before && change.generation == generation;
                write.generation = generation;
                write.before = Some(reflection.clone());
                edit.apply(&mut reflection);
            }
        }
        if !same {
            writes.push(write);
        }
    }
    let stays_withdrawn = memory.withdrawn && earlier.is_none();
    Some(RestoredState {
        memory: memory.key,
        reflection,
        status: (!stays_withdrawn).then(|| status.clone()),
        is_rewritten: earlier.is_some(),
        forget: gone.iter().map(|change| change.key).collect(),
        changes: writes,
    })
}

/// The text of a memory without the edits of its generation.
fn learned(memory: &TaughtMemory) -> LearnedText {
    let mut changes = memory.changes.iter();
    let unedited = changes.find_map(|change| match &change.act {
        Act::Edit { before, .. } if change.generation >= memory.generation => Some(before),
        _ => None,
    });
    LearnedText {
        reflection: unedited.unwrap_or(&memory.state.reflection).clone(),
        generation: memory.generation,
    }
}
