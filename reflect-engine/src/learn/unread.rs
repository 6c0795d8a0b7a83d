//! What has to be read before the similarity of two memories' tasks is known.

use crate::id::MemoryKey;

/// The vectors of these memories have to be read before the work can go on. What was done so far stays
/// done.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unread(pub(crate) Vec<MemoryKey>);

impl Unread {
    /// These memories, each once.
    pub(crate) fn of(mut keys: Vec<MemoryKey>) -> Self {
        keys.sort_unstable();
        keys.dedup();
        Self(keys)
    }
}
