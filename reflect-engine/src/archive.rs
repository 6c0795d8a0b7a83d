//! A project in pieces: all that is kept of it, to be carried to another store.
//!
//! Vectors are left out, because they belong to an embedder; the store that a piece comes into
//! makes its own.

use reflect_types::{
    AuthoredReflection, IngestStatus, InvalidField, MemoryId, ProjectId, Review, ReviewStatus,
    Skill, Trace, TraceId, Validate, Verdict,
};
use serde::{Deserialize, Serialize};

use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::learn::{self, Move};
use crate::record::{MemoryHistory, Stats};
use crate::store::EmbeddedPiece;

/// One thing that a project holds. Memories come before traces, because a review that still waits
/// moves them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Piece {
    /// A memory and all that ever moved it.
    Memory(Box<MemoryHistory>),
    /// A run and its review.
    Trace(Box<ArchivedTrace>),
    /// The project's skill.
    Skill(Skill),
}

/// A run with what its store keeps beyond the wire.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ArchivedTrace {
    /// The run as everybody sees it.
    #[serde(flatten)]
    pub trace: Trace,
    /// The caller's name for the submission.
    #[serde(default)]
    pub idempotency_key: Option<String>,
    /// The status in the first answer, which the same idempotency key gets again.
    #[serde(default)]
    pub receipt: IngestStatus,
    /// What the review says beyond what the run shows of it.
    #[serde(default)]
    pub judgement: Option<Judgement>,
}

/// What a review says beyond the wire.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Judgement {
    /// How far it moves the memories.
    pub alpha: f64,
    /// The reflection its author wrote.
    #[serde(default)]
    pub reflection: Option<AuthoredReflection>,
    /// When it was given, in RFC 3339.
    pub created_at: String,
}

/// A project beside its memories and runs. Numbers that differ tell that it changed meanwhile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Overview {
    /// The project in numbers.
    pub stats: Stats,
    /// The project's skill.
    #[serde(default)]
    pub skill: Option<Skill>,
}

/// What came of an import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Imported {
    /// Pieces that are there now and were not before.
    pub stored: u64,
    /// Pieces that were there already, and were left as they are.
    pub present: u64,
}

impl Engine {
    /// What a project holds beside its memories and runs; a project that is not there is
    /// [`Error::NoProject`], here and in the other parts of an export.
    pub async fn export_overview(&self, project: &ProjectId) -> Result<Overview> {
        let core = self.checked(project, project)?;
        // A page of nothing, which only a project that is there has.
        core.store.archived_traces(project, None, 0).await?;
        Ok(Overview {
            stats: core.store.stats(project).await?,
            skill: core.store.skill(project).await?,
        })
    }

    /// Runs in the order they were stored, after the one named.
    pub async fn export_traces(
        &self,
        project: &ProjectId,
        after: Option<&TraceId>,
        limit: usize,
    ) -> Result<Vec<ArchivedTrace>> {
        let core = self.checked(project, project)?;
        core.store.archived_traces(project, after, limit).await
    }

    /// Memories in the order they were learned, after the one named.
    pub async fn export_memories(
        &self,
        project: &ProjectId,
        after: Option<&MemoryId>,
        limit: usize,
    ) -> Result<Vec<MemoryHistory>> {
        let core = self.checked(project, project)?;
        core.store.archived_memories(project, after, limit).await
    }

    /// Stores pieces as they are, under the ids they have. What is there already stays as it is,
    /// so an import that was cut short can be begun again.
    pub async fn import(&self, project: &ProjectId, pieces: Vec<Piece>) -> Result<Imported> {
        let core = self.checked(project, project)?;
        for piece in &pieces {
            piece.validate()?;
        }
        let tasks: Vec<&str> = pieces.iter().filter_map(Piece::embedded_text).collect();
        let mut vectors = core.embed(&tasks).await?.into_iter();
        let mut restored = Vec::with_capacity(pieces.len());
        for piece in pieces {
            restored.push(match piece {
                Piece::Trace(trace) => EmbeddedPiece::Trace(trace),
                Piece::Skill(skill) => EmbeddedPiece::Skill(skill),
                Piece::Memory(memory) => EmbeddedPiece::Memory {
                    memory: Box::new(replayed(*memory)),
                    vector: vectors.next().ok_or_else(|| Error::Internal {
                        message: "the embedder left out a text".to_owned(),
                        source: None,
                    })?,
                    embedder: core.embedder.id().to_owned(),
                },
            });
        }
        let asked = restored.len() as u64;
        let stored = core
            .store
            .restore(project, self.creates_projects(), restored, core.now())
            .await?;
        core.work.notify_one();
        Ok(Imported {
            stored,
            present: asked.saturating_sub(stored),
        })
    }
}

/// The memory with the utility that follows from its events, whatever the bundle says: a utility
/// is the sum of its moves, always.
fn replayed(mut history: MemoryHistory) -> MemoryHistory {
    let moves = history.events.iter().map(|event| Move {
        alpha: event.alpha,
        reward: event.reward,
    });
    let steps: Vec<_> = learn::replay(moves).collect();
    history.memory.q_value = steps.last().map_or(learn::INITIAL, |last| last.after);
    history.memory.uses = steps.len() as u64;
    for (event, step) in history.events.iter_mut().zip(steps) {
        (event.before, event.after) = (step.before, step.after);
    }
    history
}

impl Piece {
    fn embedded_text(&self) -> Option<&str> {
        match self {
            Self::Memory(history) => Some(&history.memory.task),
            Self::Trace(_) | Self::Skill(_) => None,
        }
    }
}

impl Validate for Piece {
    fn validate(&self) -> Result<(), InvalidField> {
        match self {
            Self::Memory(history) => {
                history.memory.id.validate()?;
                share("q_value", history.memory.q_value)?;
                for event in &history.events {
                    share("events.alpha", event.alpha)?;
                    share("events.reward", event.reward)?;
                    share("events.before", event.before)?;
                    share("events.after", event.after)?;
                }
                Ok(())
            }
            Self::Trace(archived) => archived.validate(),
            // As many as anybody writes, and so few that there is always a next one.
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
            share("judgement.alpha", judgement.alpha)?;
        }
        match &trace.review {
            Some(review) if review.result == Verdict::Unknown => Err(InvalidField::new(
                "review.result",
                "must be `pass` or `fail`",
            )),
            None if trace.review_status == ReviewStatus::Reviewed => Err(InvalidField::new(
                "review",
                "is missing, but the run says that it was reviewed",
            )),
            _ => Ok(()),
        }
    }
}

impl ArchivedTrace {
    /// The review as a store keeps it; what an older bundle does not say gets its default.
    pub(crate) fn review(&self, now: jiff::Timestamp) -> Option<crate::review::NewReview> {
        let shown = self.trace.review.as_ref()?;
        let told = self.judgement.as_ref();
        Some(crate::review::NewReview {
            id: shown.id.clone(),
            verdict: shown.result,
            feedback: shown.feedback_text.clone(),
            alpha: told.map_or(Review::DEFAULT_ALPHA, |told| told.alpha),
            reflection: told.and_then(|told| told.reflection.clone()),
            mode: shown.mode.clone(),
            created_at: told
                .and_then(|told| told.created_at.parse().ok())
                .unwrap_or(now),
        })
    }

    /// The status it is stored with: nobody works on it yet.
    pub(crate) fn status(&self) -> IngestStatus {
        match (&self.trace.ingest_status, &self.trace.review) {
            (IngestStatus::Queued | IngestStatus::Processing, Some(_)) => IngestStatus::Queued,
            (IngestStatus::Failed, Some(_)) => IngestStatus::Failed,
            _ => IngestStatus::Completed,
        }
    }
}

fn share(field: &'static str, value: f64) -> Result<(), InvalidField> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    Err(InvalidField::new(
        field,
        format!("must be from 0 to 1, got {value}"),
    ))
}
