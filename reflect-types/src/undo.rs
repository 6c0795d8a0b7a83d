use serde::{Deserialize, Serialize};

use crate::id::{KeyId, MemoryId, TraceId};
use crate::integer;
use crate::neutral;
use crate::reviewer::Reviewer;
use crate::validate::{InvalidField, Validate};

/// Undoes reviews, and edits, quarantines and restorations of memories. Every condition that is set must
/// hold, and at least one must be set. Edits, quarantines and restorations have no reviewer and no trace.
///
/// Unknown fields are refused, because a misspelt condition would undo more than was meant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Undo {
    /// The API key of the reviews and changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(schema_with = crate::openapi::optional_id))]
    pub key_id: Option<KeyId>,
    /// The reviewer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviewer: Option<Reviewer>,
    /// The reviewed trace, which may have been deleted since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(schema_with = crate::openapi::optional_id))]
    pub trace_id: Option<TraceId>,
    /// The earliest time of the reviews and changes, in RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(schema_with = crate::openapi::optional_time))]
    pub since: Option<String>,
    /// The time that the reviews and changes are older than, in RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(schema_with = crate::openapi::optional_time))]
    pub until: Option<String>,
    /// Whether to report what would change, and change nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// The `digest` of a dry run. If the undo would no longer make the same changes, it makes none and
    /// the reply is a conflict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<String>,
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
    /// Traces whose review was removed, or replaced by an earlier one.
    pub traces: Vec<UndoneTrace>,
    /// Memories that were removed.
    pub removed: Vec<UndoneMemory>,
    /// Memories that were restored, because their withdrawal or quarantine was undone.
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
    /// The full lengths of the lists, which have at most 1,000 entries each.
    #[serde(default)]
    pub totals: UndoTotals,
    /// The number of changes that no list shows: of reviews that were replaced or withdrawn, and of
    /// memories whose review is withdrawn.
    #[serde(default, deserialize_with = "integer::read")]
    pub hidden: u64,
    /// The number of unreviewed traces of the key that a judge will not review.
    #[serde(default, deserialize_with = "integer::read")]
    pub unjudged: u64,
    /// In a dry run, the digest of the changes, for `expect` of the undo.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// The numbers of traces and memories that an undo changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct UndoTotals {
    /// Traces whose review was removed, or replaced by an earlier one.
    #[serde(deserialize_with = "integer::read")]
    pub traces: u64,
    /// Those of them whose earlier review was restored.
    #[serde(deserialize_with = "integer::read")]
    pub earlier_reviews: u64,
    /// Memories that were removed.
    #[serde(deserialize_with = "integer::read")]
    pub removed: u64,
    /// Memories that were restored.
    #[serde(deserialize_with = "integer::read")]
    pub restored: u64,
    /// Memories whose content became what it was before.
    #[serde(deserialize_with = "integer::read")]
    pub rewritten: u64,
    /// Memories that are quarantined again.
    #[serde(deserialize_with = "integer::read")]
    pub quarantined: u64,
    /// Memories whose utility changed.
    #[serde(deserialize_with = "integer::read")]
    pub moved: u64,
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

    /// The lengths of the lists, before they are bounded.
    pub fn full_totals(&self) -> UndoTotals {
        let earlier = self.traces.iter().filter(|trace| trace.earlier_review);
        UndoTotals {
            traces: self.traces.len() as u64,
            earlier_reviews: earlier.count() as u64,
            removed: self.removed.len() as u64,
            restored: self.restored.len() as u64,
            rewritten: self.rewritten.len() as u64,
            quarantined: self.quarantined.len() as u64,
            moved: self.moved.len() as u64,
        }
    }

    /// The maximum length of each list.
    pub const MAX_LISTED: usize = 1_000;
    /// The maximum length of a task, in characters.
    pub const MAX_TASK: usize = 200;

    /// The report of all changes as it is sent: with totals, lists that are cut to their limit, and
    /// excerpts of tasks.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        self.totals = self.full_totals();
        self.traces.truncate(Self::MAX_LISTED);
        self.moved.truncate(Self::MAX_LISTED);
        for moved in &mut self.moved {
            moved.task = task_excerpt(&moved.task);
        }
        for memories in [
            &mut self.removed,
            &mut self.restored,
            &mut self.rewritten,
            &mut self.quarantined,
        ] {
            memories.truncate(Self::MAX_LISTED);
            for memory in memories {
                memory.task = task_excerpt(&memory.task);
            }
        }
        self
    }
}

fn task_excerpt(task: &str) -> String {
    let excerpt = neutral::excerpt(task, UndoReport::MAX_TASK);
    neutral::for_prompt(&excerpt).into_owned()
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
    /// The task it was learned from, cut to 200 characters.
    pub task: String,
}

/// A memory whose utility an undo changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MovedUtility {
    /// The memory.
    pub memory_id: MemoryId,
    /// The task it was learned from, cut to 200 characters.
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
    pub key_id: Option<KeyId>,
    /// When, in RFC 3339.
    #[cfg_attr(feature = "openapi", schema(schema_with = crate::openapi::time))]
    pub created_at: String,
    /// What was asked.
    pub request: Undo,
    /// The numbers of traces and memories it changed.
    pub totals: UndoTotals,
    /// The number of utility events that no longer count.
    #[serde(default, deserialize_with = "integer::read")]
    pub events: u64,
    /// The number of changes that no list of its report shows.
    #[serde(default, deserialize_with = "integer::read")]
    pub hidden: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_of_a_large_undo_is_bounded_and_has_totals() {
        let memory = UndoneMemory {
            memory_id: "m".into(),
            task: "t\u{1b}[2J".repeat(200),
        };
        let trace = |earlier_review| UndoneTrace {
            trace_id: "t".into(),
            earlier_review,
        };
        let report = UndoReport {
            traces: (0..1_500).map(|n| trace(n % 3 == 0)).collect(),
            removed: vec![memory.clone(); 1_001],
            moved: vec![
                MovedUtility {
                    memory_id: "m".into(),
                    task: memory.task.clone(),
                    before: 0.5,
                    after: 0.0,
                };
                1_002
            ],
            quarantined: vec![memory],
            ..UndoReport::default()
        };
        let bounded = report.bounded();
        assert_eq!(
            bounded.totals,
            UndoTotals {
                traces: 1_500,
                earlier_reviews: 500,
                removed: 1_001,
                quarantined: 1,
                moved: 1_002,
                ..UndoTotals::default()
            }
        );
        assert_eq!(bounded.traces.len(), UndoReport::MAX_LISTED);
        assert_eq!(bounded.removed.len(), UndoReport::MAX_LISTED);
        assert_eq!(bounded.moved.len(), UndoReport::MAX_LISTED);
        for task in [&bounded.quarantined[0].task, &bounded.moved[0].task] {
            assert!(task.chars().count() <= UndoReport::MAX_TASK, "{task}");
            assert!(!task.contains('\u{1b}'), "{task:?}");
        }
    }

    #[test]
    fn a_report_without_totals_is_read() {
        let report = UndoReport::default();
        let mut json = serde_json::to_value(&report).unwrap();
        json.as_object_mut().unwrap().remove("totals");
        assert_eq!(serde_json::from_value::<UndoReport>(json).unwrap(), report);
    }

    #[test]
    fn an_undo_without_a_condition_is_refused() {
        let undo = Undo {
            dry_run: true,
            ..Undo::default()
        };
        assert_eq!(undo.validate().unwrap_err().field, "key_id");
    }
}
