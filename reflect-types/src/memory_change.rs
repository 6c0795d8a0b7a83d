use serde::{Deserialize, Serialize};

use crate::id::{KeyId, MemoryId};
use crate::integer;
use crate::memory_status::MemoryStatus;
use crate::neutral;
use crate::reflection::{Reflection, ReflectionEdit};
use crate::wire_enum::wire_enum;

wire_enum! {
    /// How a memory was changed.
    pub enum ChangeKind {
        /// Its text was edited.
        Edited = "edited",
        /// It was set aside.
        Quarantined = "quarantined",
        /// It was set aside, because the project keeps a limited number of memories in answers.
        Archived = "archived",
        /// It was merged into another memory that says nearly the same.
        Merged = "merged",
        /// It became active.
        Restored = "restored",
        /// It was deleted with its events.
        Deleted = "deleted",
    }
}

/// One change of a memory by the holder of a key, or by Reflect itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChangeRecord {
    /// The change's id, unique in its store. An import gives a new one.
    pub id: String,
    /// The memory, which may have been deleted since.
    pub memory_id: MemoryId,
    /// How it was changed.
    pub kind: ChangeKind,
    /// The API key of the change.
    pub key_id: Option<KeyId>,
    /// Whether Reflect itself made the change.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub automatic: bool,
    /// The reason, as given with the change.
    pub note: Option<String>,
    /// Of a merge by a person: the memory that stands for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged_into: Option<MemoryId>,
    /// The memory's status before.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(schema_with = crate::openapi::listed_status))]
    pub status_before: MemoryStatus,
    /// Of an edit: the reflection before. `None` once the memory is deleted.
    pub before: Option<Reflection>,
    /// Of an edit: the fields that were set. `None` once the memory is deleted.
    pub edit: Option<ReflectionEdit>,
    /// Of an edit: whether a later review has rewritten the memory.
    #[serde(default)]
    pub superseded: bool,
    /// The number of reviews that had rewritten the memory; absent in an archive of an older version.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "integer::read_optional"
    )]
    pub generation: Option<u64>,
    /// When, in RFC 3339.
    #[cfg_attr(feature = "openapi", schema(schema_with = crate::openapi::time))]
    pub created_at: String,
}

impl ChangeRecord {
    /// The change with [neutral](neutral::for_prompt) texts.
    #[must_use]
    pub fn neutral(self) -> Self {
        Self {
            note: self
                .note
                .map(|note| neutral::for_prompt(&note).into_owned()),
            before: self.before.map(Reflection::neutral),
            edit: self.edit.map(ReflectionEdit::neutral),
            ..self
        }
    }
}

/// The reply to `DeleteMemory`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeletedMemory {
    /// The deleted memory.
    pub memory_id: MemoryId,
}
