//! What stores say about merges by hand.

use reflect_types::{InvalidField, MemoryId};

use super::{Hiding, MemoryKey};
use crate::error::Error;

pub(crate) use crate::learn::hygiene::BY_HAND;
/// The maximum number of memories that are merged one into the next.
pub(super) const LONGEST_CHAIN: usize = 100;

/// The decision about a memory that was merged into an older one, when a person merges that one into it.
pub(super) fn reversed(key: MemoryKey) -> Hiding {
    Hiding {
        key,
        status: None,
        merged_into: None,
        reason: "the memory that it was merged into is merged into it by a person".to_owned(),
    }
}

/// The refusal of a merge into a memory that the project does not have.
pub(super) fn no_such_memory() -> Error {
    let problem = "names no memory of the project: `reflect memories list` shows them";
    InvalidField::new("merge_into", problem).into()
}

/// The refusal of a merge into a memory that stands only through this one.
pub(super) fn circle(into: &MemoryId) -> Error {
    let problem = format!("`{into}` is itself merged into this memory: restore it first");
    InvalidField::new("merge_into", problem).into()
}
