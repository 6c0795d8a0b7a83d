use serde::{Deserialize, Serialize};

use crate::id::{KeyId, MemoryId, path_segment};
use crate::integer;
use crate::memory::{MemoryHistory, UtilityEvent};
use crate::project::Stats;
use crate::reflection::{AuthoredReflection, Reflection};
use crate::requests::{run_id, session};
use crate::review::ReviewMode;
use crate::reviewer::{ModelVerdict, Reviewer};
use crate::skill::Skill;
use crate::trace::{IngestStatus, ReviewStatus, Trace};
use crate::undo::UndoRecord;
use crate::validate::{InvalidField, Validate, within};
use crate::verdict::Verdict;

/// One part of a project's export. Memories come before traces, because a queued review changes
/// them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Piece {
    /// A memory with its events.
    Memory(Box<ArchivedMemory>),
    /// A trace with its review.
    Trace(Box<ArchivedTrace>),
    /// The project's skill.
    Skill(Skill),
    /// The record of an undo.
    Undo(Box<UndoRecord>),
}

impl Piece {
    /// The maximum version of a skill.
    pub const MAX_SKILL_VERSION: u64 = 1 << 31;
}

/// A memory with what its store keeps beyond the API. One whose review was withdrawn has the status
/// [`Withdrawn`](crate::MemoryStatus::Withdrawn).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(
    feature = "openapi",
    schema(description = "A memory with what its store keeps beyond the API.")
)]
pub struct ArchivedMemory {
    /// The memory with its events and changes.
    #[serde(flatten)]
    pub history: MemoryHistory,
    /// The number of reviews that have rewritten it.
    #[serde(
        default,
        skip_serializing_if = "is_zero",
        deserialize_with = "integer::read"
    )]
    pub generation: u64,
    /// Events of withdrawn reviews, which do not count until the withdrawal is undone, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set_aside: Vec<SetAsideEvent>,
}

impl From<MemoryHistory> for ArchivedMemory {
    fn from(history: MemoryHistory) -> Self {
        Self {
            history,
            generation: 0,
            set_aside: Vec::new(),
        }
    }
}

/// An event that does not count, with its place among those that do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SetAsideEvent {
    /// The event.
    #[serde(flatten)]
    pub event: UtilityEvent,
    /// The number of counting events before it.
    #[serde(deserialize_with = "integer::read")]
    pub position: u64,
}

/// A trace with what its store keeps beyond the API.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ArchivedTrace {
    /// The trace.
    #[serde(flatten)]
    pub trace: Trace,
    /// The status in its receipt, which the same idempotency key gets again.
    #[serde(default)]
    pub receipt: IngestStatus,
    /// What the store keeps of its review beyond the API.
    pub judgement: Option<Judgement>,
    /// Its replaced and withdrawn reviews, and the withdrawals, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub past_reviews: Vec<ArchivedReview>,
}

/// A review that no longer stands, or the withdrawal of one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ArchivedReview {
    /// The API key that gave it, or withdrew it.
    pub key_id: Option<KeyId>,
    /// Who gave it.
    #[serde(default)]
    pub reviewer: Reviewer,
    /// When, in RFC 3339.
    #[cfg_attr(feature = "openapi", schema(schema_with = crate::openapi::time))]
    pub created_at: String,
    /// The review; absent for a withdrawal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<ReplacedReview>,
}

/// The content of a review that no longer stands, and what was learned from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReplacedReview {
    /// The review's id.
    pub id: String,
    /// Pass or fail.
    pub result: Verdict,
    /// The feedback.
    pub feedback_text: Option<String>,
    /// The learning rate.
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 1))]
    pub alpha: f64,
    /// The reflection of its author.
    pub reflection: Option<AuthoredReflection>,
    /// Given with the run, or later.
    pub mode: ReviewMode,
    /// The verdict of a model that it overruled.
    pub overruled: Option<ModelVerdict>,
    /// The memory that was learned from it.
    pub memory_id: Option<MemoryId>,
    /// The text of that memory, without edits.
    pub learned: Option<Reflection>,
    /// The number of reviews that had rewritten the memory before.
    #[serde(default, deserialize_with = "integer::read")]
    pub generation: u64,
}

/// Review fields that replies omit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Judgement {
    /// The learning rate.
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 1))]
    pub alpha: f64,
    /// The reflection of its author.
    pub reflection: Option<AuthoredReflection>,
    /// When it was given, in RFC 3339.
    #[cfg_attr(feature = "openapi", schema(schema_with = crate::openapi::time))]
    pub created_at: String,
}

/// Totals and skill; compare two to detect changes during an export.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Overview {
    /// The totals.
    pub stats: Stats,
    /// The project's skill.
    pub skill: Option<Skill>,
    /// The newest record of an undo.
    pub last_undo: Option<String>,
}

/// The reply to `ImportProject`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ImportReport {
    /// Parts that were stored.
    pub stored: u64,
    /// Parts that existed already and were left as they are.
    pub present: u64,
}

impl Validate for Piece {
    fn validate(&self) -> Result<(), InvalidField> {
        match self {
            Self::Memory(archived) => {
                let history = &archived.history;
                history.memory.id.validate_imported()?;
                within("q_value", history.memory.q_value, 0.0..=1.0)?;
                if let Some(alpha) = history.memory.alpha {
                    within("alpha", alpha, 0.0..=1.0)?;
                }
                let aside = archived.set_aside.iter().map(|aside| &aside.event);
                for event in history.events.iter().chain(aside) {
                    within("events.alpha", event.alpha, 0.0..=1.0)?;
                    within("events.reward", event.reward, 0.0..=1.0)?;
                    within("events.before", event.before, 0.0..=1.0)?;
                    within("events.after", event.after, 0.0..=1.0)?;
                }
                let changes = &history.changes;
                let known = history.memory.status.is_known()
                    && changes
                        .iter()
                        .all(|change| change.kind.is_known() && change.status_before.is_listed());
                if !known {
                    return Err(InvalidField::new(
                        "status",
                        "or a kind or status of `changes` is newer than this version: upgrade Reflect",
                    ));
                }
                let status = &history.memory.status;
                let needs_reason = status.is_automatic() && !status.is_settable();
                if history.memory.aside.is_none() && needs_reason {
                    let problem = format!("is missing, but the memory is {status}");
                    return Err(InvalidField::new("aside", problem));
                }
                if history.memory.aside.is_some() && !status.is_automatic() {
                    let problem = "needs a `status` that keeps the memory out of answers";
                    return Err(InvalidField::new("aside", problem));
                }
                Ok(())
            }
            Self::Trace(archived) => archived.validate(),
            // There is always a next version.
            Self::Skill(skill) if !(1..=Self::MAX_SKILL_VERSION).contains(&skill.version) => {
                Err(InvalidField::new(
                    "version",
                    format!("must be 1 to 2^31, got {}", skill.version),
                ))
            }
            Self::Skill(_) => Ok(()),
            Self::Undo(record) => {
                path_segment("id", &record.id)?;
                record.request.validate()
            }
        }
    }
}

impl Validate for ArchivedTrace {
    fn validate(&self) -> Result<(), InvalidField> {
        let trace = &self.trace;
        trace.id.validate()?;
        run_id("run_id", trace.run_id.as_deref())?;
        run_id("parent_run_id", trace.parent_run_id.as_deref())?;
        session(trace.session_id.as_deref())?;
        trace.usage.map_or(Ok(()), |usage| usage.validate())?;
        let known = trace.review_status.is_known()
            && trace.ingest_status.is_known()
            && self.receipt.is_known();
        if !known {
            return Err(InvalidField::new(
                "review_status",
                "or `ingest_status` is newer than this version: upgrade Reflect",
            ));
        }
        if let Some(judgement) = &self.judgement {
            within("judgement.alpha", judgement.alpha, 0.0..=1.0)?;
        }
        self.past_reviews.iter().try_for_each(Validate::validate)?;
        if let Some(withdrawn) = &trace.withdrawn_verdict {
            known_verdict("withdrawn_verdict", withdrawn)?;
        }
        match &trace.review {
            Some(review) if review.result == Verdict::Unknown => Err(InvalidField::new(
                "review.result",
                "must be `pass` or `fail`",
            )),
            Some(review) if review.reviewer == Some(Reviewer::Unknown) => Err(InvalidField::new(
                "review.reviewer",
                "is newer than this version: upgrade Reflect",
            )),
            Some(review) => {
                if let Some(reviewer) = &review.reviewer {
                    reviewer.validate()?;
                }
                let overruled = review.overruled.as_ref();
                overruled.map_or(Ok(()), |verdict| known_verdict("review.overruled", verdict))
            }
            None if trace.review_status == ReviewStatus::Reviewed => Err(InvalidField::new(
                "review",
                "is missing, but the trace is marked as reviewed",
            )),
            None => Ok(()),
        }
    }
}

impl Validate for ArchivedReview {
    fn validate(&self) -> Result<(), InvalidField> {
        self.reviewer.validate()?;
        let Some(review) = &self.review else {
            return Ok(());
        };
        if review.result == Verdict::Unknown {
            let problem = "must be `pass` or `fail`";
            return Err(InvalidField::new("past_reviews.result", problem));
        }
        within("past_reviews.alpha", review.alpha, 0.0..=1.0)?;
        let overruled = review.overruled.as_ref();
        overruled.map_or(Ok(()), |verdict| {
            known_verdict("past_reviews.overruled", verdict)
        })
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A store keeps only what it can read again.
fn known_verdict(field: &'static str, verdict: &ModelVerdict) -> Result<(), InvalidField> {
    if verdict.result == Verdict::Unknown {
        return Err(InvalidField::new(field, "must be `pass` or `fail`"));
    }
    let model = Reviewer::Model(verdict.model.clone()).validate();
    model.map_err(|error| InvalidField { field, ..error })
}

#[cfg(test)]
mod tests;
