use reflect_types::{MemoryId, ProjectId};
use rusqlite::{Connection, OptionalExtension, named_params, params};

use super::fault::Fault;
use super::reviews::Run;
use super::{projects, row};
use crate::clock;
use crate::error::Error;
use crate::learn::{self, Move, Step};
use crate::record::{ListMemories, MemoryHistory, MemoryPage, MemoryRecord, UtilityEvent};
use crate::store::{Lesson, MemoryKey, NewMemory};

/// How many events the memories of a page have; one that has more is a page of its own.
pub(super) const PAGE_EVENTS: usize = 100_000;

/// Stores the memory of a run.
pub(super) fn insert(db: &Connection, run: &Run, lesson: &Lesson) -> Result<(), Fault> {
    let memory = &lesson.memory;
    db.prepare_cached(
        "INSERT INTO memory (project, id, trace_id, success, q, revision, created_at, metadata, \
             task, reflection) \
         VALUES (:project, :id, :trace_id, :success, :q, :revision, :created_at, :metadata, \
             :task, :reflection)",
    )?
    .execute(named_params! {
        ":project": run.project,
        ":id": memory.id.as_str(),
        ":trace_id": run.id.as_str(),
        ":success": lesson.review.verdict.success(),
        ":q": learn::INITIAL,
        ":revision": next_revision(db, run.project)?,
        ":created_at": clock::text(memory.created_at),
        ":metadata": run.metadata,
        ":task": run.task,
        ":reflection": row::to_json(&memory.reflection)?,
    })?;
    embed(db, db.last_insert_rowid(), &memory.embedder, &memory.vector)
}

/// Writes a memory anew under its old id; tells whether it was there.
pub(super) fn rewrite(
    db: &Connection,
    run: &Run,
    id: &MemoryId,
    lesson: &Lesson,
) -> Result<bool, Fault> {
    let NewMemory {
        reflection,
        embedder,
        vector,
        ..
    } = &lesson.memory;
    let revision = next_revision(db, run.project)?;
    let key = db
        .prepare_cached(
            "UPDATE memory SET reflection = ?3, success = ?4, revision = ?5 \
             WHERE id = ?1 AND project = ?2 RETURNING key",
        )?
        .query_row(
            params![
                id.as_str(),
                run.project,
                row::to_json(reflection)?,
                lesson.review.verdict.success(),
                revision,
            ],
            |row| row.get(0),
        )
        .optional()?;
    if let Some(key) = key {
        embed(db, key, embedder, vector)?;
    }
    Ok(key.is_some())
}

/// Moves a memory by one step and hands the step to `record`; tells whether it was there.
pub(super) fn apply(
    db: &Connection,
    project: i64,
    id: &MemoryId,
    step: Move,
    record: impl FnOnce(MemoryKey, Step) -> Result<(), Fault>,
) -> Result<bool, Fault> {
    let found = db
        .prepare_cached("SELECT key, q FROM memory WHERE id = ?1 AND project = ?2")?
        .query_row(params![id.as_str(), project], |row| {
            Ok((row.get::<_, MemoryKey>(0)?, row.get::<_, f64>(1)?))
        })
        .optional()?;
    let Some((key, before)) = found else {
        return Ok(false);
    };
    let after = step.apply(before);
    record(key, Step { before, after })?;
    db.prepare_cached("UPDATE memory SET q = ?2, uses = uses + 1, revision = ?3 WHERE key = ?1")?
        .execute(params![key, after, next_revision(db, project)?])?;
    Ok(true)
}

/// Computes a memory's utility and the numbers of its events from the start.
pub(super) fn replay(db: &Connection, project: i64, memory: MemoryKey) -> Result<(), Fault> {
    let events: Vec<(i64, Move)> = db
        .prepare_cached(
            "SELECT key, alpha, reward FROM utility_event WHERE memory = ?1 ORDER BY key",
        )?
        .query_map([memory], |row| {
            let (alpha, reward) = (row.get(1)?, row.get(2)?);
            Ok((row.get(0)?, Move { alpha, reward }))
        })?
        .collect::<rusqlite::Result<_>>()?;
    let mut q = learn::INITIAL;
    let steps = learn::replay(events.iter().map(|(_, step)| *step));
    for ((event, _), step) in events.iter().zip(steps) {
        db.prepare_cached("UPDATE utility_event SET before = ?2, after = ?3 WHERE key = ?1")?
            .execute(params![event, step.before, step.after])?;
        q = step.after;
    }
    db.prepare_cached("UPDATE memory SET q = ?2, uses = ?3, revision = ?4 WHERE key = ?1")?
        .execute(params![
            memory,
            q,
            row::limit(events.len()),
            next_revision(db, project)?
        ])?;
    Ok(())
}

/// Removes a memory and its events; the runs that were given it ignore it from now on.
pub(super) fn remove(db: &Connection, project: i64, id: &MemoryId) -> Result<(), Fault> {
    let key: Option<MemoryKey> = db
        .prepare_cached("SELECT key FROM memory WHERE id = ?1 AND project = ?2")?
        .query_row(params![id.as_str(), project], |row| row.get(0))
        .optional()?;
    let Some(key) = key else { return Ok(()) };
    let users: Vec<String> = db
        .prepare_cached("SELECT DISTINCT trace_id FROM utility_event WHERE memory = ?1")?
        .query_map([key], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for user in users {
        db.prepare_cached(
            "UPDATE trace SET ignored = json_insert(ignored, '$[#]', ?3) \
             WHERE project = ?1 AND id = ?2",
        )?
        .execute(params![project, user, id.as_str()])?;
    }
    db.prepare_cached("DELETE FROM memory WHERE key = ?1")?
        .execute([key])?;
    db.prepare_cached(
        "INSERT INTO deleted_memory (memory, project, revision) VALUES (?1, ?2, ?3)",
    )?
    .execute(params![key, project, next_revision(db, project)?])?;
    Ok(())
}

pub(super) fn get(
    db: &Connection,
    project: &ProjectId,
    id: &MemoryId,
) -> Result<Option<MemoryHistory>, Fault> {
    let mut select = db.prepare_cached(&format!(
        "SELECT {} FROM memory m JOIN project p ON p.key = m.project WHERE m.id = ?1 AND p.id = ?2",
        row::MEMORY
    ))?;
    let mut rows = select.query([id.as_str(), project.as_str()])?;
    let Some(found) = rows.next()? else {
        return Ok(None);
    };
    let events = events_of(db, found.get(0)?, id)?;
    let memory = row::memory(found)?;
    Ok(Some(MemoryHistory { memory, events }))
}

pub(super) fn list(
    db: &Connection,
    project: &ProjectId,
    list: &ListMemories,
) -> Result<MemoryPage, Fault> {
    let project = projects::key(db, project)?;
    let before: i64 = match &list.before {
        // Without a project this finds nothing: null equals nothing.
        Some(id) => db
            .prepare_cached("SELECT key FROM memory WHERE id = ?1 AND project = ?2")?
            .query_row(params![id.as_str(), project], |row| row.get(0))
            .optional()?
            .ok_or_else(|| Error::unknown_cursor("before", "memory", id.as_str()))?,
        None => i64::MAX,
    };
    let Some(project) = project else {
        return Ok(MemoryPage::default());
    };
    let limit = list.limit.unwrap_or(ListMemories::DEFAULT_LIMIT) as usize;
    let mut select = db.prepare_cached(&format!(
        "SELECT {} FROM memory m WHERE m.project = ?1 AND m.key < ?2 \
         ORDER BY m.key DESC LIMIT ?3",
        row::MEMORY
    ))?;
    // One more than asked tells whether there is another page.
    let mut rows = select.query(params![project, before, row::limit(limit + 1)])?;
    let (mut page, mut all_events) = (MemoryPage::default(), 0);
    while let Some(found) = rows.next()? {
        if page.memories.len() == limit || all_events > PAGE_EVENTS {
            page.next = page.memories.last().map(|last| last.memory.id.clone());
            break;
        }
        let memory = row::memory(found)?;
        let events = events_of(db, found.get(0)?, &memory.id)?;
        all_events += events.len();
        page.memories.push(MemoryHistory { memory, events });
    }
    Ok(page)
}

pub(super) fn best(
    db: &Connection,
    project: &ProjectId,
    success: bool,
    limit: usize,
) -> Result<Vec<MemoryRecord>, Fault> {
    let mut select = db.prepare_cached(&format!(
        "SELECT {} FROM memory m JOIN project p ON p.key = m.project \
         WHERE p.id = ?1 AND m.success = ?2 ORDER BY m.q DESC, m.uses DESC, m.key DESC LIMIT ?3",
        row::MEMORY
    ))?;
    let mut rows = select.query(params![project.as_str(), success, row::limit(limit)])?;
    let mut best = Vec::new();
    while let Some(found) = rows.next()? {
        best.push(row::memory(found)?);
    }
    Ok(best)
}

pub(super) fn vectors(
    db: &Connection,
    project: &ProjectId,
    embedder: &str,
    keys: &[MemoryKey],
) -> Result<Vec<(MemoryKey, Vec<f32>)>, Fault> {
    if projects::key(db, project)?.is_none() {
        return Ok(Vec::new());
    }
    // Nothing is read of the memory itself: no key ever means another one.
    let mut select =
        db.prepare_cached("SELECT vector FROM embedding WHERE memory = ?1 AND embedder = ?2")?;
    let mut found = Vec::with_capacity(keys.len());
    for key in keys {
        let mut rows = select.query(params![key, embedder])?;
        if let Some(row) = rows.next()? {
            found.push((*key, row::from_blob(row, 0)?));
        }
    }
    Ok(found)
}

pub(super) fn by_key(
    db: &Connection,
    project: &ProjectId,
    keys: &[MemoryKey],
) -> Result<Vec<(MemoryKey, MemoryRecord)>, Fault> {
    let Some(project) = projects::key(db, project)? else {
        return Ok(Vec::new());
    };
    let mut select = db.prepare_cached(&format!(
        "SELECT {} FROM memory m WHERE m.key = ?1 AND m.project = ?2",
        row::MEMORY
    ))?;
    let mut found = Vec::with_capacity(keys.len());
    for key in keys {
        let mut rows = select.query(params![key, project])?;
        if let Some(memory) = rows.next()? {
            found.push((*key, row::memory(memory)?));
        }
    }
    Ok(found)
}

pub(super) fn events_of(
    db: &Connection,
    key: MemoryKey,
    id: &MemoryId,
) -> Result<Vec<UtilityEvent>, Fault> {
    let mut select = db.prepare_cached(&format!(
        "SELECT {} FROM utility_event e WHERE e.memory = ?1 ORDER BY e.key",
        row::EVENT
    ))?;
    let mut rows = select.query([key])?;
    let mut events = Vec::new();
    while let Some(found) = rows.next()? {
        events.push(row::event(found, id)?);
    }
    Ok(events)
}

pub(super) fn embed(
    db: &Connection,
    key: MemoryKey,
    embedder: &str,
    vector: &[f32],
) -> Result<(), Fault> {
    db.prepare_cached(
        "INSERT OR REPLACE INTO embedding (memory, embedder, vector) VALUES (?1, ?2, ?3)",
    )?
    .execute(params![key, embedder, row::to_blob(vector)])?;
    Ok(())
}

/// A number no other change of the project's memories has.
pub(super) fn next_revision(db: &Connection, project: i64) -> Result<i64, Fault> {
    Ok(db
        .prepare_cached(
            "UPDATE project SET revision = revision + 1 WHERE key = ?1 RETURNING revision",
        )?
        .query_row([project], |row| row.get(0))?)
}
