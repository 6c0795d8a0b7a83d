use serde::{Deserialize, Serialize};

use crate::id::{MemoryId, TraceId};

/// The reply to `Undo`: what changed, or would change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UndoReport {
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// Traces whose review was taken back, or replaced by the one before it.
    pub traces: Vec<UndoneTrace>,
    /// Memories that were removed.
    pub removed: Vec<UndoneMemory>,
    /// Memories that came back, because their withdrawal or quarantine was undone.
    pub restored: Vec<UndoneMemory>,
    /// Memories whose content became what it was before.
    pub rewritten: Vec<UndoneMemory>,
    /// Memories that are quarantined again, because their restoration was undone.
    #[serde(default)]
    pub quarantined: Vec<UndoneMemory>,
    /// Memories whose utility changed.
    pub moved: Vec<MovedUtility>,
    /// The number of utility events that no longer count.
    pub events: u64,
    /// Whether the skill was removed because it was written from one of these memories.
    pub skill_removed: bool,
    /// The number of changes that no list shows: of reviews that were replaced or withdrawn, and of
    /// memories whose review is withdrawn.
    #[serde(default, deserialize_with = "crate::integer::read")]
    pub hidden: u64,
    /// The number of unreviewed traces of the key that a judge does not review from now on.
    #[serde(default, deserialize_with = "crate::integer::read")]
    pub unjudged: u64,
    /// In a dry run, the digest of what would be taken back, to be expected of the undo.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

impl UndoReport {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        let nothing = Self {
            dry_run: self.dry_run,
            digest: self.digest.clone(),
            ..Self::default()
        };
        *self == nothing
    }
}

/// A trace whose review was undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UndoneTrace {
    /// The trace.
    pub trace_id: TraceId,
    /// Whether an earlier review stands again; otherwise the trace waits for a review.
    pub earlier_review: bool,
}

/// A memory that an undo removes, restores or rewrites.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UndoneMemory {
    /// The memory.
    pub memory_id: MemoryId,
    /// The task it was learned from.
    pub task: String,
}

/// A memory whose utility an undo changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MovedUtility {
    /// The memory.
    pub memory_id: MemoryId,
    /// The task it was learned from.
    pub task: String,
    /// Its utility before the undo.
    pub before: f64,
    /// Its utility after it.
    pub after: f64,
}
