use serde::{Deserialize, Serialize};

use crate::memory::MemoryHistory;
use crate::project::Stats;
use crate::reflection::AuthoredReflection;
use crate::reviewer::Reviewer;
use crate::skill::Skill;
use crate::trace::{IngestStatus, ReviewStatus, Trace};
use crate::validate::{InvalidField, Validate, within};
use crate::verdict::Verdict;

/// One part of a project's export. Memories come before traces, because a queued review changes
/// them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Piece {
    /// A memory with its events.
    Memory(Box<MemoryHistory>),
    /// A trace with its review.
    Trace(Box<ArchivedTrace>),
    /// The project's skill.
    Skill(Skill),
}

/// A trace with what its store keeps beyond the API.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ArchivedTrace {
    /// The trace.
    #[serde(flatten)]
    pub trace: Trace,
    /// Its idempotency key.
    #[serde(default)]
    pub idempotency_key: Option<String>,
    /// The status in its receipt, which the same idempotency key gets again.
    #[serde(default)]
    pub receipt: IngestStatus,
    /// What the store keeps of its review beyond the API.
    #[serde(default)]
    pub judgement: Option<Judgement>,
}

/// What a store keeps of a review beyond the API.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Judgement {
    /// The learning rate.
    pub alpha: f64,
    /// The reflection of its author.
    #[serde(default)]
    pub reflection: Option<AuthoredReflection>,
    /// When it was given, in RFC 3339.
    pub created_at: String,
}

/// A project beside its memories and traces. Two overviews that differ tell that the project changed
/// in between.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Overview {
    /// The project in numbers.
    pub stats: Stats,
    /// The project's skill.
    #[serde(default)]
    pub skill: Option<Skill>,
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
            Self::Memory(history) => {
                history.memory.id.validate()?;
                within("q_value", history.memory.q_value, 0.0..=1.0)?;
                for event in &history.events {
                    within("events.alpha", event.alpha, 0.0..=1.0)?;
                    within("events.reward", event.reward, 0.0..=1.0)?;
                    within("events.before", event.before, 0.0..=1.0)?;
                    within("events.after", event.after, 0.0..=1.0)?;
                }
                let changes = &history.changes;
                let known = history.memory.status.is_known()
                    && changes.iter().all(|change| change.kind.is_known());
                if !known {
                    return Err(InvalidField::new(
                        "status",
                        "or a kind of `changes` is newer than this version: upgrade Reflect",
                    ));
                }
                Ok(())
            }
            Self::Trace(archived) => archived.validate(),
            // There is always a next version.
            Self::Skill(skill) if !(1..=1 << 31).contains(&skill.version) => {
                Err(InvalidField::new(
                    "version",
                    format!("must be 1 to 2^31, got {}", skill.version),
                ))
            }
            Self::Skill(_) => Ok(()),
        }
    }
}

impl Validate for ArchivedTrace {
    fn validate(&self) -> Result<(), InvalidField> {
        let trace = &self.trace;
        trace.id.validate()?;
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
        match &trace.review {
            Some(review) if review.result == Verdict::Unknown => Err(InvalidField::new(
                "review.result",
                "must be `pass` or `fail`",
            )),
            Some(review) if review.reviewer == Some(Reviewer::Unknown) => Err(InvalidField::new(
                "review.reviewer",
                "is newer than this version: upgrade Reflect",
            )),
            None if trace.review_status == ReviewStatus::Reviewed => Err(InvalidField::new(
                "review",
                "is missing, but the trace is marked as reviewed",
            )),
            _ => Ok(()),
        }
    }
}
