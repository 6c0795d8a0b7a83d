//! Memories: search, and a memory with its changes.

use std::time::Instant;

use axum::response::Response;
use jiff::Timestamp;
use reflect_console::{
    MemoriesPage, MemoryPage, MemorySearch, SimilarMemories, in_project, shown, shown_memories,
    status_of,
};
use reflect_engine::Engine;
use reflect_types::{
    DeleteMemory, GetMemory, ListMemories, MemoryId, MemoryRecord, MemoryStatus, MemoryUpdate,
    QueryMemories, Ranking, ReflectionEdit, UpdateMemory, neutral,
};

use super::answer::{Problem, long_page, page, redirect};
use super::form::Fields;
use super::visit::{Change, Visit};
use crate::error::ApiError;

/// The merged memories that are shown beside the one that stands for them.
const MAX_COMPARED: usize = 5;
/// The memories that a search for similar ones asks for, the memory itself among them.
const MAX_SIMILAR: u32 = 5;

/// The list, or the answer to a search.
pub(super) async fn list(visit: Visit) -> Result<Response, Problem> {
    visit.require::<ListMemories>()?;
    let engine = visit.engine();
    let search = search(&visit, &engine).await?;
    let first = visit.first_trace();
    let Some(query) = search.query() else {
        let slot = visit.slot().await?;
        let list = ListMemories {
            limit: Some(30),
            before: Some(search.before.clone())
                .filter(|id| !id.is_empty())
                .map(MemoryId::new),
            status: match search.status.as_str() {
                "quarantined" => Some(MemoryStatus::Quarantined),
                "staged" => Some(MemoryStatus::Staged),
                "archived" => Some(MemoryStatus::Archived),
                "merged" => Some(MemoryStatus::Merged),
                _ => None,
            },
        };
        let found = engine.list_memories(&visit.project, &list).await?;
        let frame = visit.frame().await?;
        let now = Timestamp::now();
        let page = MemoriesPage::list(frame, search, &found, first, now);
        return Ok(long_page(slot, &page));
    };
    visit.require::<QueryMemories>()?;
    let started = Instant::now();
    let explanation = engine.explain_memories(&visit.project, &query).await?;
    let took = started.elapsed();
    // Not before: the task is embedded, which may take long, and an explanation is bounded.
    let slot = visit.slot().await?;
    let ids: Vec<_> = shown_memories(&explanation)
        .map(|memory| memory.id.clone())
        .collect();
    let records = engine.find_memories(&visit.project, &ids).await?;
    let frame = visit.frame().await?;
    let page = MemoriesPage::found(frame, search, &explanation, &records, took, first);
    Ok(long_page(slot, &page))
}

/// A memory.
pub(super) async fn one(visit: Visit) -> Result<Response, Problem> {
    visit.require::<GetMemory>()?;
    let slot = visit.slot().await?;
    let found = visit
        .engine()
        .get_memory(&visit.project, &memory_id(&visit))
        .await?;
    let merged = found.merged.iter().map(|merged| &merged.memory_id);
    let others = found.memory.merged_into.iter().chain(merged);
    let others: Vec<MemoryId> = others.take(MAX_COMPARED).cloned().collect();
    let others = visit
        .engine()
        .find_memories(&visit.project, &others)
        .await?;
    let frame = visit.frame().await?;
    let now = Timestamp::now();
    let keys = visit.keys().await?;
    let page = MemoryPage::new(frame, &found, &others, &keys, now);
    Ok(long_page(slot, &page))
}

/// The memories of tasks like a memory's own, which could be merged into it.
pub(super) async fn similar(visit: Visit) -> Result<Response, Problem> {
    visit.require::<GetMemory>()?;
    visit.require::<QueryMemories>()?;
    let engine = visit.engine();
    let memory = find(&visit).await?;
    let query = QueryMemories {
        limit: MAX_SIMILAR,
        lambda: 0.0,
        ..QueryMemories::new(&memory.task)
    };
    let answer = engine.query_memories(&visit.project, &query).await?;
    let others = answer.into_iter().map(|found| found.id);
    let others: Vec<MemoryId> = others.filter(|id| *id != memory.id).collect();
    let others = engine.find_memories(&visit.project, &others).await?;
    let frame = visit.frame().await?;
    Ok(page(&SimilarMemories::new(frame, &memory, &others)))
}

/// Merges a memory into another one, and shows that one.
pub(super) async fn merge(change: Change) -> Result<Response, Problem> {
    let Change { visit, form } = change;
    let into = MemoryId::new(form.text("into"));
    let update = MemoryUpdate {
        merge_into: Some(into.clone()),
        ..MemoryUpdate::default()
    };
    store(&visit, &form, update).await?;
    Ok(show(&visit, &into))
}

/// Edits the texts that differ from those of the page, which the form has as `was_…`. One that was changed since the
/// page was read is a conflict.
pub(super) async fn edit(change: Change) -> Result<Response, Problem> {
    let Change { visit, form } = change;
    visit.require::<UpdateMemory>()?;
    let memory = find(&visit).await?;
    let edited = |name: &str, stored: &str| {
        let (text, was) = (form.text(name), form.get(&format!("was_{name}")));
        // The second click of two has the words that the first one stored.
        if text == was || neutral::for_prompt(&text) == stored {
            return Ok(None);
        }
        if was != shown(stored) {
            let problem = "somebody has edited this memory meanwhile: yours was not saved. Copy your words, and load the page again";
            return Err(ApiError::conflict(problem));
        }
        Ok(Some(text))
    };
    let stored = &memory.reflection;
    // A memory says at least what happened or what to do.
    let said = |name: &'static str, stored: &str| match edited(name, stored)? {
        Some(text) if text.trim().is_empty() => {
            let problem = "the summary and \"next time\" cannot be blank: write what to do instead, or set the memory aside";
            Err(ApiError::field(name, problem))
        }
        text => Ok(text),
    };
    let reflection = ReflectionEdit {
        summary: said("summary", &stored.summary)?,
        guidance: said("guidance", &stored.guidance)?,
        key_mistake: edited("key_mistake", &stored.key_mistake)?,
        correct_action: edited("correct_action", &stored.correct_action)?,
        ..ReflectionEdit::default()
    };
    if reflection == ReflectionEdit::default() {
        let is_same = |name: &str| form.get(name) == form.get(&format!("was_{name}"));
        let texts = ["summary", "guidance", "key_mistake", "correct_action"];
        if texts.into_iter().all(is_same) && !form.get("note").trim().is_empty() {
            let problem = "the reason goes with a change: edit a text too";
            return Err(ApiError::field("note", problem).into());
        }
        return Ok(show(&visit, &memory.id));
    }
    let known = |edit: Option<&String>, stored: &String| edit.map(|_| stored.clone());
    let known = ReflectionEdit {
        summary: known(reflection.summary.as_ref(), &stored.summary),
        guidance: known(reflection.guidance.as_ref(), &stored.guidance),
        key_mistake: known(reflection.key_mistake.as_ref(), &stored.key_mistake),
        correct_action: known(reflection.correct_action.as_ref(), &stored.correct_action),
        ..ReflectionEdit::default()
    };
    let update = MemoryUpdate {
        reflection: Some(reflection),
        known: Some(known),
        ..MemoryUpdate::default()
    };
    store(&visit, &form, update).await
}

/// Sets a memory aside, or restores it.
pub(super) async fn status(change: Change) -> Result<Response, Problem> {
    let Change { visit, form } = change;
    let Some(status) = status_of(form.get("action")) else {
        let problem = "must be `quarantine` or `restore`";
        return Err(ApiError::field("action", problem).into());
    };
    let update = MemoryUpdate {
        status: Some(status),
        ..MemoryUpdate::default()
    };
    store(&visit, &form, update).await
}

/// Deletes a memory.
pub(super) async fn delete(change: Change) -> Result<Response, Problem> {
    let visit = change.visit;
    visit.require::<DeleteMemory>()?;
    visit
        .engine()
        .delete_memory(&visit.project, &memory_id(&visit))
        .await?;
    Ok(redirect(&in_project(visit.project.as_str(), &["memories"])))
}

/// The memory of the address.
async fn find(visit: &Visit) -> Result<MemoryRecord, Problem> {
    let id = [memory_id(visit)];
    let found = visit.engine().find_memories(&visit.project, &id).await?;
    let found = found.into_iter().next();
    Ok(found.ok_or_else(|| ApiError::not_found("there is no such memory"))?)
}

async fn store(visit: &Visit, form: &Fields, update: MemoryUpdate) -> Result<Response, Problem> {
    visit.require::<UpdateMemory>()?;
    let id = memory_id(visit);
    let note = Some(form.get("note").trim()).filter(|note| !note.is_empty());
    let update = MemoryUpdate {
        note: note.map(str::to_owned),
        ..update
    };
    let update = UpdateMemory::new(id.clone(), update);
    visit
        .engine()
        .update_memory(&visit.project, &update)
        .await?;
    Ok(show(visit, &id))
}

fn show(visit: &Visit, id: &MemoryId) -> Response {
    redirect(&in_project(
        visit.project.as_str(),
        &["memories", id.as_str()],
    ))
}

fn memory_id(visit: &Visit) -> MemoryId {
    MemoryId::new(visit.segment("memory_id"))
}

/// The search of the address; what it leaves out is as for an agent that asks for memories.
async fn search(visit: &Visit, engine: &Engine) -> Result<MemorySearch, Problem> {
    let query = &visit.query;
    let number = |name: &str| query.get(name).parse::<f64>().ok();
    let ranking = match query.get("ranking") {
        "" => {
            let settings = engine.settings(&visit.project).await?;
            settings.ranking.unwrap_or(engine.default_ranking().clone())
        }
        ranking => Ranking::from(ranking),
    };
    let usual = match ranking {
        Ranking::Classic => 1.0 - QueryMemories::DEFAULT_MMR_LAMBDA,
        _ => 0.0,
    };
    Ok(MemorySearch {
        q: query.text("q"),
        ranking: ranking.to_string(),
        lambda: number("lambda").unwrap_or(QueryMemories::DEFAULT_LAMBDA),
        floor: number("floor").unwrap_or(engine.similarity_floor()),
        usual_floor: engine.similarity_floor(),
        variety: number("variety").unwrap_or(usual),
        status: query.text("status"),
        before: query.text("before"),
    })
}
