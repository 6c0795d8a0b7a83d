//! Export and import of a project.
//!
//! Pieces carry no vectors, because these belong to an embedder: an import embeds its memories.

use reflect_types::{
    ArchivedMemory, ArchivedReview, ArchivedTrace, CreateTrace, ExportMemories, ExportTraces,
    ImportReport, InvalidField, ListUndos, MemoryId, Overview, Piece, ProjectId, Reflection, Skill,
    TraceId, Undo, UndoRecord, Validate, neutral,
};

use super::handle::Engine;
use super::time;
use crate::clock;
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
        store.archived_traces_json(project, after, limit).await
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

    /// All pieces of a project, in the order of an import, in pages of at most this many.
    pub async fn export(&self, project: &ProjectId, page: u32) -> Result<Export> {
        Ok(Export {
            before: self.export_overview(project).await?,
            engine: self.clone(),
            project: project.clone(),
            page,
            part: Part::Memories(None),
        })
    }

    /// Stores exported pieces under their ids. Existing ones are left as they are, so an interrupted
    /// import can be repeated. Times become UTC, the texts of memories and of the skill neutral, and a task of
    /// a memory is cut to its limit; traces stay as they are, except for what their past reviews taught.
    pub async fn import(
        &self,
        project: &ProjectId,
        mut pieces: Vec<Piece>,
    ) -> Result<ImportReport> {
        let core = self.checked(project, project)?;
        for piece in &mut pieces {
            piece.validate()?;
            normalise_times(piece)?;
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

/// An export of a project, read page by page.
#[derive(Debug)]
pub struct Export {
    engine: Engine,
    project: ProjectId,
    page: u32,
    before: Overview,
    part: Part,
}

/// What is read next, and after which record.
#[derive(Debug)]
enum Part {
    Memories(Option<MemoryId>),
    Traces(Option<TraceId>),
    Rest(Vec<Piece>),
}

impl Export {
    /// The totals of the project when the export began.
    pub fn overview(&self) -> &Overview {
        &self.before
    }

    /// The next pieces; none at the end. Pages are read separately: if the project has changed by then, a change may be
    /// in one page and not in another, which is a conflict.
    pub async fn next(&mut self) -> Result<Vec<Piece>> {
        let (engine, project, limit) = (&self.engine, &self.project, Some(self.page));
        if let Part::Memories(after) = &mut self.part {
            let page = ExportMemories {
                limit,
                after: after.take(),
            };
            let memories = engine.export_memories(project, &page).await?;
            if let Some(last) = memories.last() {
                *after = Some(last.history.memory.id.clone());
                let pieces = memories.into_iter().map(Box::new).map(Piece::Memory);
                return Ok(pieces.collect());
            }
            self.part = Part::Traces(None);
        }
        if let Part::Traces(after) = &mut self.part {
            let page = ExportTraces {
                limit,
                after: after.take(),
            };
            let traces = engine.export_traces(project, &page).await?;
            if let Some(last) = traces.last() {
                *after = Some(last.trace.id.clone());
                let pieces = traces.into_iter().map(Box::new).map(Piece::Trace);
                return Ok(pieces.collect());
            }
            let skill = self.before.skill.iter().cloned().map(Piece::Skill);
            let undos = all_undos(engine, project).await?.into_iter();
            let undos = undos.map(Box::new).map(Piece::Undo);
            self.part = Part::Rest(skill.chain(undos).collect());
        }
        let Part::Rest(rest) = &mut self.part else {
            return Ok(Vec::new());
        };
        if rest.is_empty() && engine.export_overview(project).await? != self.before {
            let changed = "the project changed during the export: retry when it is quiet";
            return Err(Error::Conflict(changed.to_owned()));
        }
        let page = rest.len().min(self.page as usize);
        Ok(rest.drain(..page).collect())
    }
}

/// All records of undos, oldest first.
async fn all_undos(engine: &Engine, project: &ProjectId) -> Result<Vec<UndoRecord>> {
    let mut list = ListUndos {
        limit: Some(ListUndos::MAX_LIMIT),
        before: None,
    };
    let mut records = Vec::new();
    loop {
        let page = engine.list_undos(project, &list).await?;
        list.before = page.cursor().map(|record| record.id.clone());
        records.extend(page.items);
        if list.before.is_none() {
            records.reverse();
            return Ok(records);
        }
    }
}

/// Writes all times as the store writes its own, because it compares them as texts. One that cannot be read is
/// refused: such a row would fail every undo.
fn normalise_times(piece: &mut Piece) -> Result<(), InvalidField> {
    let mut times: Vec<(&'static str, &mut String)> = Vec::new();
    match piece {
        Piece::Memory(archived) => {
            let ArchivedMemory {
                history, set_aside, ..
            } = &mut **archived;
            let memory = &mut history.memory;
            times.push(("created_at", &mut memory.created_at));
            let aside = memory.aside.iter_mut();
            times.extend(aside.map(|aside| ("aside.since", &mut aside.since)));
            let aside = set_aside.iter_mut().map(|aside| &mut aside.event);
            let events = history.events.iter_mut().chain(aside);
            times.extend(events.map(|event| ("events.created_at", &mut event.created_at)));
            let changes = history.changes.iter_mut();
            times.extend(changes.map(|change| ("changes.created_at", &mut change.created_at)));
        }
        Piece::Trace(archived) => {
            let stored = archived.trace.created_at.iter_mut();
            times.extend(stored.map(|time| ("created_at", time)));
            let given = archived.judgement.iter_mut();
            times.extend(given.map(|given| ("judgement.created_at", &mut given.created_at)));
            let past = archived.past_reviews.iter_mut();
            times.extend(past.map(|past| ("past_reviews.created_at", &mut past.created_at)));
        }
        Piece::Skill(skill) => {
            times.extend(skill.created_at.iter_mut().map(|time| ("created_at", time)));
        }
        Piece::Undo(record) => {
            times.push(("created_at", &mut record.created_at));
            let Undo { since, until, .. } = &mut record.request;
            times.extend(since.iter_mut().map(|time| ("request.since", time)));
            times.extend(until.iter_mut().map(|time| ("request.until", time)));
        }
        _ => {}
    }
    for (field, text) in times {
        *text = clock::text(time::parse(field, text)?);
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

/// The piece with neutral texts, because an archive may be anyone's.
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
