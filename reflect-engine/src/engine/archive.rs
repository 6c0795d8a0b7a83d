//! Export and import of a project.
//!
//! Pieces carry no vectors, because these belong to an embedder: an import embeds its memories.

use reflect_types::{
    ArchivedMemory, ArchivedReview, ArchivedTrace, CreateTrace, ExportMemories, ExportTraces,
    ImportReport, InvalidField, ListUndos, Overview, Piece, ProjectId, Reflection, Skill, Undo,
    Validate, neutral,
};

use super::handle::Engine;
use super::time;
use crate::error::{Error, Result};
use crate::learn::{self, Move};
use crate::store::{EmbeddedPiece, Undecoded};

impl Engine {
    /// The counts and the skill of a project. A missing project is [`Error::NoProject`], here and in
    /// the other exports.
    pub async fn export_overview(&self, project: &ProjectId) -> Result<Overview> {
        let core = self.checked(project, project)?;
        // An empty page, which fails for a missing project.
        core.store.archived_traces(project, None, 0).await?;
        let newest = ListUndos {
            limit: Some(1),
            before: None,
        };
        let last = core.store.list_undos(project, &newest).await?;
        Ok(Overview {
            stats: core.store.stats(project).await?,
            skill: core.store.skill(project).await?,
            last_undo: last.items.into_iter().next().map(|record| record.id),
        })
    }

    /// A page of traces in the order they were stored.
    pub async fn export_traces(
        &self,
        project: &ProjectId,
        page: &ExportTraces,
    ) -> Result<Vec<ArchivedTrace>> {
        let traces = self.export_traces_json(project, page).await?;
        traces.into_iter().map(Undecoded::decode).collect()
    }

    /// Like [`export_traces`](Self::export_traces), the long fields undecoded.
    pub async fn export_traces_json(
        &self,
        project: &ProjectId,
        page: &ExportTraces,
    ) -> Result<Vec<Undecoded<ArchivedTrace>>> {
        let core = self.checked(project, page)?;
        let (after, limit) = (page.after.as_ref(), page.limit() as usize);
        let store = &core.store;
        let traces = store.archived_traces_json(project, after, limit).await?;
        let noted = |archived: ArchivedTrace| ArchivedTrace {
            trace: archived.trace.with_judge_notes(),
            ..archived
        };
        Ok(traces.into_iter().map(|trace| trace.map(noted)).collect())
    }

    /// A page of memories in the order they were learned.
    pub async fn export_memories(
        &self,
        project: &ProjectId,
        page: &ExportMemories,
    ) -> Result<Vec<ArchivedMemory>> {
        let core = self.checked(project, page)?;
        let (after, limit) = (page.after.as_ref(), page.limit() as usize);
        core.store.archived_memories(project, after, limit).await
    }

    /// Stores exported pieces under their ids. Existing ones are left as they are, so an interrupted
    /// import can be repeated. The texts of memories and of the skill become neutral, and a task of a
    /// memory is cut to its limit; traces stay as they are, except for what their past reviews taught.
    pub async fn import(&self, project: &ProjectId, pieces: Vec<Piece>) -> Result<ImportReport> {
        let core = self.checked(project, project)?;
        for piece in &pieces {
            piece.validate()?;
            check_times(piece)?;
        }
        let pieces: Vec<Piece> = pieces.into_iter().map(made_neutral).collect();
        let tasks: Vec<&str> = pieces.iter().filter_map(embedded_text).collect();
        let mut vectors = core.embed(&tasks).await?.into_iter();
        let mut restored = Vec::with_capacity(pieces.len());
        for piece in pieces {
            restored.push(match piece {
                Piece::Trace(trace) => EmbeddedPiece::Trace(trace),
                Piece::Skill(skill) => EmbeddedPiece::Skill(skill),
                Piece::Undo(record) => EmbeddedPiece::Undo(record),
                Piece::Memory(memory) => EmbeddedPiece::Memory {
                    memory: Box::new(replayed(*memory)),
                    vector: vectors
                        .next()
                        .ok_or_else(|| Error::bug("the embedder left out a text"))?,
                    embedder: core.embedder.id().to_owned(),
                },
                _ => {
                    let problem = "have a kind that this version cannot store: upgrade Reflect";
                    return Err(InvalidField::new("pieces", problem).into());
                }
            });
        }
        let asked = restored.len() as u64;
        let stored = core
            .store
            .restore(project, self.creates_projects(), restored, core.now())
            .await?;
        core.work.notify_one();
        core.imported.notify_one();
        Ok(ImportReport {
            stored,
            present: asked.saturating_sub(stored),
        })
    }
}

/// Refuses a time that no store could read again: one such row would fail every undo.
fn check_times(piece: &Piece) -> Result<(), InvalidField> {
    match piece {
        Piece::Memory(archived) => {
            let ArchivedMemory {
                history, set_aside, ..
            } = &**archived;
            time::parse("created_at", &history.memory.created_at)?;
            let aside = set_aside.iter().map(|aside| &aside.event);
            for event in history.events.iter().chain(aside) {
                time::parse("events.created_at", &event.created_at)?;
            }
            for change in &history.changes {
                time::parse("changes.created_at", &change.created_at)?;
            }
        }
        Piece::Trace(archived) => {
            if let Some(time) = &archived.trace.created_at {
                time::parse("created_at", time)?;
            }
            if let Some(judgement) = &archived.judgement {
                time::parse("judgement.created_at", &judgement.created_at)?;
            }
            for past in &archived.past_reviews {
                time::parse("past_reviews.created_at", &past.created_at)?;
            }
        }
        Piece::Undo(record) => {
            time::parse("created_at", &record.created_at)?;
            let Undo { since, until, .. } = &record.request;
            for (field, given) in [("request.since", since), ("request.until", until)] {
                given
                    .as_deref()
                    .map(|text| time::parse(field, text))
                    .transpose()?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// The memory with the utility that follows from its events, whatever the piece says.
fn replayed(mut archived: ArchivedMemory) -> ArchivedMemory {
    let history = &mut archived.history;
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
    archived
}

/// The piece with neutral texts, because an archive may be of an older version, or anyone's.
fn made_neutral(piece: Piece) -> Piece {
    match piece {
        Piece::Memory(mut archived) => {
            archived.history = archived.history.neutral();
            let memory = &mut archived.history.memory;
            let task = neutral::excerpt(&memory.task, CreateTrace::MAX_TASK);
            memory.task = task.into_owned();
            Piece::Memory(archived)
        }
        Piece::Trace(mut archived) => {
            for ArchivedReview { review, .. } in &mut archived.past_reviews {
                if let Some(review) = review {
                    review.learned = review.learned.take().map(Reflection::neutral);
                }
            }
            Piece::Trace(archived)
        }
        Piece::Skill(skill) => Piece::Skill(Skill {
            content: neutral::for_prompt(&skill.content).into_owned(),
            ..skill
        }),
        other => other,
    }
}

fn embedded_text(piece: &Piece) -> Option<&str> {
    match piece {
        Piece::Memory(archived) => Some(&archived.history.memory.task),
        _ => None,
    }
}
