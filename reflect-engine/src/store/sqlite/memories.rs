//! Memories and their events.

use reflect_types::{
    KeyId, ListMemories, MemoryHistory, MemoryId, MemoryRecord, MemoryStatus, Page, ProjectId,
    Verdict,
};
use rusqlite::{Connection, OptionalExtension, Row, named_params, params};

use super::fault::Fault;
use super::{events, memory_changes, merged, projects, row, skills, snapshots, vectors};
use crate::clock;
use crate::error::Error;
use crate::learn;
use crate::review::{LearnedContent, NewMemory, Teacher};
use crate::store::sketches::{task_sketch, text_sketch};
use crate::store::{MemoryKey, STAGED, page};

/// The share of a memory in the bytes of a page.
pub(super) fn page_bytes(
    row: &Row<'_>,
    history: &MemoryHistory,
    set_aside: usize,
) -> Result<usize, Fault> {
    Ok(row::memory_bytes(row)? + page::history_bytes(history, set_aside))
}

/// Inserts the memory of a trace.
pub(super) fn insert(
    db: &Connection,
    project: i64,
    trace: i64,
    memory: &NewMemory,
    success: bool,
    alpha: f64,
    teacher: &Teacher,
) -> Result<(), Fault> {
    let reviewer_model = teacher.reviewer.model_name();
    let staged: bool = db
        .prepare_cached(
            "SELECT approve IS NOT NULL AND (approve <> 'models' OR ?2 IS NOT NULL) \
             FROM project WHERE key = ?1",
        )?
        .query_row(params![project, reviewer_model], |row| row.get(0))?;
    db.prepare_cached(
        "INSERT INTO memory (project, id, trace_id, success, q, revision, created_at, metadata, \
             task, reflection, key_id, reviewer_model, given, alpha, task_sketch, text_sketch, \
             aside, aside_reason, aside_at, needs_approval) \
         VALUES (:project, :id, (SELECT id FROM trace WHERE key = :trace), :success, :q, :revision, \
             :created_at, (SELECT metadata FROM trace WHERE key = :trace), :task, :reflection, \
             :key_id, :reviewer_model, (SELECT retrieved FROM trace WHERE key = :trace), :alpha, \
             :task_sketch, :text_sketch, iif(:staged, 'staged', NULL), iif(:staged, :reason, NULL), \
             iif(:staged, :created_at, NULL), :staged)",
    )?
    .execute(named_params! {
        ":project": project,
        ":trace": trace,
        ":id": memory.id.as_str(),
        ":success": success,
        ":q": learn::INITIAL,
        ":revision": projects::next_revision(db, project)?,
        ":created_at": clock::text(memory.created_at),
        ":task": memory.task,
        ":reflection": row::to_json(&memory.reflection)?,
        ":key_id": teacher.key_id.as_ref().map(KeyId::as_str),
        ":reviewer_model": reviewer_model,
        ":alpha": alpha,
        ":task_sketch": task_sketch(&memory.task),
        ":text_sketch": text_sketch(&memory.reflection),
        ":staged": staged,
        ":reason": STAGED,
    })?;
    vectors::add(
        db,
        db.last_insert_rowid(),
        &memory.embedder,
        &memory.vector,
        memory.created_at,
    )
}

/// Replaces the content of a memory, and deletes a skill that was written from it.
pub(super) fn rewrite(
    db: &Connection,
    project: i64,
    key: MemoryKey,
    memory: &NewMemory,
    success: bool,
    alpha: f64,
    teacher: &Teacher,
) -> Result<(), Fault> {
    vectors::forget_other_task(db, key, &memory.task)?;
    let revision = projects::next_revision(db, project)?;
    let rewritten = params![
        key,
        row::to_json(&memory.reflection)?,
        success,
        revision,
        teacher.key_id.as_ref().map(KeyId::as_str),
        teacher.reviewer.model_name(),
        memory.task,
        alpha,
        task_sketch(&memory.task),
        text_sketch(&memory.reflection),
    ];
    let id = db
        .prepare_cached(
            "UPDATE memory SET task = ?7, reflection = ?2, success = ?3, revision = ?4, key_id = ?5, \
                 reviewer_model = ?6, alpha = ?8, task_sketch = ?9, text_sketch = ?10, \
                 generation = generation + 1 WHERE key = ?1 RETURNING id",
        )?
        .query_row(rewritten, |row| row.get::<_, String>(0))?;
    skills::remove_of(db, project, &MemoryId::new(id))?;
    vectors::put(db, key, &memory.embedder, &memory.vector, memory.created_at)
}

pub(super) fn set_utility(
    db: &Connection,
    project: i64,
    key: MemoryKey,
    q: f64,
    uses: u64,
) -> Result<(), Fault> {
    let uses = i64::try_from(uses).unwrap_or(i64::MAX);
    db.prepare_cached("UPDATE memory SET q = ?2, uses = ?3, revision = ?4 WHERE key = ?1")?
        .execute(params![key, q, uses, projects::next_revision(db, project)?])?;
    Ok(())
}

/// Sets a memory aside, and deletes a skill that was written from it. The traces with an event of it
/// ignore it from now on.
pub(super) fn withdraw(db: &Connection, project: i64, id: &MemoryId) -> Result<(), Fault> {
    let Some(key) = key_of(db, project, id)? else {
        return Ok(());
    };
    ignore(db, project, key, id)?;
    skills::remove_of(db, project, id)?;
    db.prepare_cached("UPDATE memory SET status = 'withdrawn', revision = ?2 WHERE key = ?1")?
        .execute(params![key, projects::next_revision(db, project)?])?;
    Ok(())
}

/// Gives a memory the content of a past state of its review, and makes it active.
pub(super) fn restore(
    db: &Connection,
    project: i64,
    id: &MemoryId,
    content: &LearnedContent,
) -> Result<(), Fault> {
    let Some(key) = key_of(db, project, id)? else {
        return Ok(());
    };
    let LearnedContent {
        learned,
        verdict,
        alpha,
        teacher,
    } = content;
    db.prepare_cached(
        "UPDATE memory SET reflection = ?2, success = ?3, key_id = ?4, reviewer_model = ?5, \
             generation = ?6, status = iif(status = 'withdrawn', 'active', status), revision = ?7, \
             alpha = ?8, text_sketch = ?9 WHERE key = ?1",
    )?
    .execute(params![
        key,
        row::to_json(&learned.reflection)?,
        *verdict == Verdict::Pass,
        teacher.key_id.as_ref().map(KeyId::as_str),
        teacher.reviewer.model_name(),
        learned.generation,
        projects::next_revision(db, project)?,
        alpha,
        text_sketch(&learned.reflection),
    ])?;
    db.prepare_cached(
        "UPDATE trace SET ignored = (SELECT json_group_array(value) FROM json_each(ignored) \
             WHERE value <> ?3) \
         WHERE project = ?1 AND id IN (SELECT trace_id FROM utility_event WHERE memory = ?2)",
    )?
    .execute(params![project, key, id.as_str()])?;
    Ok(())
}

/// The traces with an event of this memory name it among those they ignore.
fn ignore(db: &Connection, project: i64, key: MemoryKey, id: &MemoryId) -> Result<(), Fault> {
    db.prepare_cached(
        "UPDATE trace SET ignored = json_insert(ignored, '$[#]', ?3) \
         WHERE project = ?1 AND id IN \
                 (SELECT trace_id FROM utility_event WHERE memory = ?2 AND aside = 0) \
             AND NOT EXISTS (SELECT 1 FROM json_each(ignored) WHERE value = ?3)",
    )?
    .execute(params![project, key, id.as_str()])?;
    Ok(())
}

/// The key of a memory, also of one that is withdrawn.
pub(super) fn key_of(
    db: &Connection,
    project: i64,
    id: &MemoryId,
) -> Result<Option<MemoryKey>, Fault> {
    Ok(db
        .prepare_cached("SELECT key FROM memory WHERE id = ?1 AND project = ?2")?
        .query_row(params![id.as_str(), project], |row| row.get(0))
        .optional()?)
}

/// The stored status of a memory.
pub(super) fn status(
    db: &Connection,
    project: i64,
    id: &MemoryId,
) -> Result<Option<String>, Fault> {
    Ok(db
        .prepare_cached("SELECT status FROM memory WHERE id = ?1 AND project = ?2")?
        .query_row(params![id.as_str(), project], |row| row.get(0))
        .optional()?)
}

/// Deletes a memory with its events, its earlier contents and a skill that was written from it. The
/// traces with such an event ignore it from now on.
pub(super) fn remove(db: &Connection, project: i64, id: &MemoryId) -> Result<(), Fault> {
    let Some(key) = key_of(db, project, id)? else {
        return Ok(());
    };
    ignore(db, project, key, id)?;
    skills::remove_of(db, project, id)?;
    for earlier in [
        "UPDATE past_review SET learned = NULL WHERE memory_id = ?2 AND trace IN (SELECT t.key \
             FROM memory m JOIN trace t ON t.project = m.project AND t.id = m.trace_id \
             WHERE m.key = ?1)",
        "UPDATE deleted_review SET learned = NULL WHERE memory_id = ?2 AND (project, trace_id) = \
             (SELECT project, trace_id FROM memory WHERE key = ?1)",
    ] {
        db.prepare_cached(earlier)?
            .execute(params![key, id.as_str()])?;
    }
    memory_changes::forget(db, project, id)?;
    snapshots::forget(db, project)?;
    db.prepare_cached("DELETE FROM memory WHERE key = ?1")?
        .execute([key])?;
    db.prepare_cached(
        "INSERT INTO deleted_memory (memory, project, revision) VALUES (?1, ?2, ?3)",
    )?
    .execute(params![key, project, projects::next_revision(db, project)?])?;
    Ok(())
}

pub(super) fn get(
    db: &Connection,
    project: &ProjectId,
    id: &MemoryId,
) -> Result<Option<MemoryHistory>, Fault> {
    let mut select = db.prepare_cached(&format!(
        "SELECT {} FROM memory m JOIN project p ON p.key = m.project \
         WHERE m.id = ?1 AND p.id = ?2 AND m.status <> 'withdrawn'",
        row::MEMORY
    ))?;
    let mut rows = select.query([id.as_str(), project.as_str()])?;
    let Some(found) = rows.next()? else {
        return Ok(None);
    };
    Ok(Some(history(db, found)?))
}

/// The memory in a row of [`row::MEMORY`] with its events and changes.
pub(super) fn history(db: &Connection, found: &Row<'_>) -> Result<MemoryHistory, Fault> {
    let (key, memory) = (found.get(0)?, row::memory(found)?);
    Ok(MemoryHistory {
        events: events::counted(db, key, &memory.id)?,
        merged: merged::merged_into(db, key)?,
        changes: memory_changes::of_memory(db, key)?,
        memory,
    })
}

pub(super) fn list(
    db: &Connection,
    project: &ProjectId,
    list: &ListMemories,
) -> Result<Page<MemoryHistory>, Fault> {
    let project = projects::key(db, project)?;
    let before: i64 = match &list.before {
        // Without a project this finds nothing: NULL equals nothing.
        Some(id) => db
            .prepare_cached("SELECT key FROM memory WHERE id = ?1 AND project = ?2")?
            .query_row(params![id.as_str(), project], |row| row.get(0))
            .optional()?
            .ok_or_else(|| Error::unknown_cursor("before", "memory", id.as_str()))?,
        None => i64::MAX,
    };
    let Some(project) = project else {
        return Ok(Page::default());
    };
    let limit = list.limit.unwrap_or(ListMemories::DEFAULT_LIMIT) as usize;
    let mut select = db.prepare_cached(&format!(
        "SELECT {} FROM memory m WHERE m.project = ?1 AND m.key < ?2 AND m.status <> 'withdrawn' \
             AND (?4 IS NULL OR iif(m.status = 'active', coalesce(m.aside, 'active'), m.status) = ?4) \
         ORDER BY m.key DESC LIMIT ?3",
        row::MEMORY
    ))?;
    let status = list.status.as_ref().map(MemoryStatus::as_str);
    // One more than the limit shows whether another page follows.
    let mut rows = select.query(params![project, before, row::limit(limit + 1), status])?;
    let (mut page, mut bytes) = (Page::default(), 0);
    while let Some(found) = rows.next()? {
        if page.items.len() == limit || bytes > page::PAGE_BYTES {
            page.more = true;
            break;
        }
        let history = history(db, found)?;
        bytes += page_bytes(found, &history, 0)?;
        page.items.push(history);
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
         WHERE p.id = ?1 AND m.success = ?2 AND m.status = 'active' AND m.aside IS NULL \
         ORDER BY m.q DESC, m.uses DESC, m.key DESC LIMIT ?3",
        row::MEMORY
    ))?;
    let mut rows = select.query(params![project.as_str(), success, row::limit(limit)])?;
    let mut best = Vec::new();
    while let Some(found) = rows.next()? {
        best.push(row::memory(found)?);
    }
    Ok(best)
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
        "SELECT {} FROM memory m WHERE m.key = ?1 AND m.project = ?2 AND m.status = 'active' \
             AND m.aside IS NULL",
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
