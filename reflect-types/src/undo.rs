use serde::{Deserialize, Serialize};

use crate::id::{KeyId, MemoryId, TraceId};
use crate::integer;
use crate::reviewer::Reviewer;
use crate::validate::{InvalidField, Validate};

/// Takes back what was taught, and edits, quarantines and restorations of memories, which no reviewer
/// and no trace has caused. Every condition that is set must hold, and one must be set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Undo {
    /// What this API key has taught.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(schema_with = crate::openapi::optional_id))]
    pub key_id: Option<KeyId>,
    /// What this reviewer has taught.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviewer: Option<Reviewer>,
    /// What was taught by the reviews of this trace, which may have been deleted since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(schema_with = crate::openapi::optional_id))]
    pub trace_id: Option<TraceId>,
    /// What was taught at this time or later, in RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(schema_with = crate::openapi::optional_time))]
    pub since: Option<String>,
    /// What was taught before this time, in RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(schema_with = crate::openapi::optional_time))]
    pub until: Option<String>,
    /// Whether to report what would change, and change nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

impl Validate for Undo {
    fn validate(&self) -> Result<(), InvalidField> {
        let named = self.key_id.is_some()
            || self.reviewer.is_some()
            || self.trace_id.is_some()
            || self.since.is_some()
            || self.until.is_some();
        if !named {
            let problem =
                "or `reviewer`, `trace_id`, `since` or `until` is needed: say what to undo";
            return Err(InvalidField::new("key_id", problem));
        }
        self.key_id.as_ref().map_or(Ok(()), Validate::validate)?;
        self.trace_id.as_ref().map_or(Ok(()), Validate::validate)?;
        self.reviewer.as_ref().map_or(Ok(()), Validate::validate)
    }
}

/// The reply to `Undo`: what changed, or would change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UndoReport {
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// The number of reviews, and of withdrawals of reviews, that never were, replaced ones included.
    /// Those of deleted traces are not counted.
    #[serde(default)]
    pub reviews: u64,
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

/// The record of an undo: who asked for what, when, and how much it changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UndoRecord {
    /// The record's id, unique in its project.
    #[cfg_attr(feature = "openapi", schema(schema_with = crate::openapi::id))]
    pub id: String,
    /// The API key that undid.
    #[serde(default)]
    pub key_id: Option<KeyId>,
    /// When, in RFC 3339.
    #[cfg_attr(feature = "openapi", schema(schema_with = crate::openapi::time))]
    pub created_at: String,
    /// What was asked.
    pub request: Undo,
    /// How much it changed.
    pub counts: UndoCounts,
}

/// An [`UndoReport`] in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(
    feature = "openapi",
    schema(description = "What an undo changed, in numbers.")
)]
#[serde(default)]
pub struct UndoCounts {
    /// Reviews, and withdrawals of reviews, that were taken back.
    #[serde(deserialize_with = "integer::read")]
    pub reviews: u64,
    /// Traces whose review changed.
    #[serde(deserialize_with = "integer::read")]
    pub traces: u64,
    /// Memories that were removed.
    #[serde(deserialize_with = "integer::read")]
    pub removed: u64,
    /// Memories that came back.
    #[serde(deserialize_with = "integer::read")]
    pub restored: u64,
    /// Memories whose content became what it was before.
    #[serde(deserialize_with = "integer::read")]
    pub rewritten: u64,
    /// Memories that were quarantined again.
    #[serde(deserialize_with = "integer::read")]
    pub quarantined: u64,
    /// Memories whose utility changed.
    #[serde(deserialize_with = "integer::read")]
    pub moved: u64,
    /// Utility events that no longer count.
    #[serde(deserialize_with = "integer::read")]
    pub events: u64,
}

impl From<&UndoReport> for UndoCounts {
    fn from(report: &UndoReport) -> Self {
        Self {
            reviews: report.reviews,
            traces: report.traces.len() as u64,
            removed: report.removed.len() as u64,
            restored: report.restored.len() as u64,
            rewritten: report.rewritten.len() as u64,
            quarantined: report.quarantined.len() as u64,
            moved: report.moved.len() as u64,
            events: report.events,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_undo_of_nothing_in_particular_is_refused() {
        let undo = Undo {
            dry_run: true,
            ..Undo::default()
        };
        assert_eq!(undo.validate().unwrap_err().field, "key_id");
    }
}
