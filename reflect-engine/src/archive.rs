//! A project in pieces: all that is kept of it, to be carried to another store.
//!
//! Vectors are left out, because they belong to an embedder; the store that a piece comes into
//! makes its own.

use reflect_types::{
    ArchivedTrace, ImportReport, MemoryHistory, MemoryId, Overview, Piece, ProjectId, TraceId,
    Validate,
};

use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::learn::{self, Move};
use crate::store::Restored;

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
    pub async fn import(&self, project: &ProjectId, pieces: Vec<Piece>) -> Result<ImportReport> {
        let core = self.checked(project, project)?;
        for piece in &pieces {
            piece.validate()?;
        }
        let tasks: Vec<&str> = pieces.iter().filter_map(embedded_text).collect();
        let mut vectors = core.embed(&tasks).await?.into_iter();
        let mut restored = Vec::with_capacity(pieces.len());
        for piece in pieces {
            restored.push(match piece {
                Piece::Trace(trace) => Restored::Trace(trace),
                Piece::Skill(skill) => Restored::Skill(skill),
                Piece::Memory(memory) => Restored::Memory {
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
        Ok(ImportReport {
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

fn embedded_text(piece: &Piece) -> Option<&str> {
    match piece {
        Piece::Memory(history) => Some(&history.memory.task),
        Piece::Trace(_) | Piece::Skill(_) => None,
    }
}
