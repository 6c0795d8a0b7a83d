//! Memories as an index follows them.

use reflect_types::{Approval, MemoryId, MemoryStatus, Metadata, Ranking};

use crate::learn::Role;
use crate::learn::sketch::{TaskSketch, TextSketch};

pub(crate) use crate::learn::hygiene::STAGED;

pub use crate::id::MemoryKey;

/// A state of a project's memories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Revision {
    /// Distinguishes a project from an earlier one of the same name; 0 where there is none.
    pub epoch: i64,
    /// The number of changes so far.
    pub number: i64,
}

impl Revision {
    /// How many changes a store remembers deletions for. An index that is further behind starts over.
    pub const FOLLOWED: i64 = 100_000;
}

/// A page of changes of a project's memories.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemoryChanges {
    /// Whether the reader has to forget what it knows and start from these changes.
    pub reset: bool,
    /// The changes, oldest first.
    pub changes: Vec<MemoryChange>,
    /// The revision after them.
    pub revision: Revision,
    /// Whether another page follows.
    pub more: bool,
    /// What the project's answers depend on besides its memories.
    pub settings: RecallSettings,
}

/// The settings of a project that its answers depend on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecallSettings {
    /// The number of memories that it keeps in answers.
    pub max_memories: Option<u64>,
    /// How they are ranked unless a query says otherwise.
    pub ranking: Option<Ranking>,
    /// Which memories wait for approval.
    pub approve: Option<Approval>,
    /// Whether the reader decides about them. A store leaves that to the engine.
    pub role: Role,
}

/// A change of one memory.
#[derive(Clone, Debug, PartialEq)]
pub enum MemoryChange {
    /// The memory is new or has changed.
    Put(Box<IndexedMemory>),
    /// The memory was deleted, or has no vector of the embedder.
    Gone(MemoryKey),
}

/// What an index needs to know about a memory.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is true or false whatever the others are"
)]
pub struct IndexedMemory {
    /// The memory.
    pub key: MemoryKey,
    /// Its id.
    pub id: MemoryId,
    /// Its vector.
    pub vector: Vec<f32>,
    /// Its utility.
    pub q: f64,
    /// Its metadata.
    pub metadata: Metadata,
    /// Whether the run it was learned from passed.
    pub passed: bool,
    /// The learning rate of that run's review.
    pub alpha: f64,
    /// The memories that run was given.
    pub given: Vec<MemoryId>,
    /// Whether it may be part of an answer.
    pub shown: bool,
    /// The status that Reflect itself has given it.
    pub hidden: Option<MemoryStatus>,
    /// The memory that it is merged into, if that is its status.
    pub merged_into: Option<MemoryKey>,
    /// Whether a person has set it aside.
    pub quarantined: bool,
    /// The memory that a person has merged it into, which may be withdrawn.
    pub merge_into: Option<MemoryKey>,
    /// Whether the project asks for its approval, and did when it was learned. It waits until a person
    /// restores it.
    pub needs_approval: bool,
    /// The number of reviewed runs that were given it.
    pub uses: u64,
    /// The number of `uses` at the last restoration by a person; `None` without one.
    pub uses_at_restore: Option<u64>,
    /// The sketch of its task.
    pub task: Option<TaskSketch>,
    /// The sketch of what it says.
    pub text: Option<TextSketch>,
}

/// A decision of Reflect itself about a memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hiding {
    /// The memory.
    pub key: MemoryKey,
    /// The status that it gets instead of `active`; `None` gives it back.
    pub status: Option<MemoryStatus>,
    /// The memory that it is merged into, if that is its status.
    pub merged_into: Option<MemoryKey>,
    /// The reason.
    pub reason: String,
}
