//! Memories and their events.

use reflect_types::{
    KeyId, ListMemories, MemoryHistory, MemoryId, MemoryRecord, MemoryStatus, Page, ProjectId,
    Verdict,
};

use super::fault::Fault;
use super::revisions::next_revision;
use super::sql::{Db, Row};
use super::value::params;
use super::{histories, ignored, memory_changes, projects, row, skills, vectors};
use crate::clock;
use crate::error::Error;
use crate::learn;
use crate::review::{LearnedContent, NewMemory, Teacher};
use crate::store::sketches::{task_sketch, text_sketch};
use crate::store::{MemoryKey, STAGED, page};

/// The share of a memory in the bytes of a page.
pub(super) fn page_bytes(row: &Row, history: &MemoryHistory, set_aside: usize) -> usize {
    row.bytes() + page::history_bytes(history, set_aside)
}

/// Inserts the memory of a trace.
pub(super) async fn insert(
    db: &Db<'_>,
    project: i64,
    trace: i64,
    memory: &NewMemory,
    success: bool,
    alpha: f64,
    teacher: &Teacher,
) -> Result<(), Fault> {
    let revision = next_revision(db, project).await?;
    let insert = async {
        db.value(
            "INSERT INTO memory (project, id, trace_id, success, q, revision, created_at, \
             metadata, task, reflection, key_id, reviewer_model, given, alpha, task_sketch, \
             text_sketch, aside, aside_reason, aside_at, needs_approval) SELECT $1, $3, \
             t.id, $4, $5, $6, $7, t.metadata, $8, $9, $10, $11, t.retrieved, $12, $13, $14, \
             CASE WHEN p.staged THEN 'staged' END, CASE WHEN p.staged THEN $15 END, \
             CASE WHEN p.staged THEN $7 END, p.staged FROM trace t JOIN (SELECT key, approve IS NOT NULL AND \
             (approve <> 'models' OR $11::text IS NOT NULL) AS staged FROM project) p ON \
             p.key = t.project WHERE t.key = $2 RETURNING key",
            params![
                project,
                trace,
                memory.id.as_str(),
                success,
                learn::INITIAL,
                revision,
                clock::text(memory.created_at),
                memory.task,
                row::to_json(&memory.reflection)?,
                teacher.key_id.as_ref().map(KeyId::as_str),
                teacher.reviewer.model_name(),
                alpha,
                task_sketch(&memory.task),
                text_sketch(&memory.reflection),
                STAGED,
            ],
        )
        .await
    };
    let NewMemory {
        id,
        embedder,
        vector,
        created_at,
        ..
    } = memory;
    // Sent without waiting for the key.
    let of_memory = vectors::put_of(db, project, id, embedder, vector);
    match tokio::try_join!(biased; insert, of_memory)? {
        (Some(_), true) => Ok(()),
        (Some(key), false) => vectors::put(db, key, embedder, vector, *created_at).await,
        (None, _) => Err(Fault::Data("a memory has no trace".to_owned())),
    }
}

/// Replaces the content of a memory, and deletes a skill that was written from it.
pub(super) async fn rewrite(
    db: &Db<'_>,
    project: i64,
    key: MemoryKey,
    memory: &NewMemory,
    success: bool,
    alpha: f64,
    teacher: &Teacher,
) -> Result<(), Fault> {
    vectors::forget_other_task(db, key, &memory.task).await?;
    let revision = next_revision(db, project).await?;
    let id: Option<String> = db
        .value(
            "UPDATE memory SET task = $7, reflection = $2, success = $3, revision = $4, \
             key_id = $5, reviewer_model = $6, alpha = $8, task_sketch = $9, \
             text_sketch = $10, generation = generation + 1 WHERE \
             key = $1 RETURNING id",
            params![
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
            ],
        )
        .await?;
    if let Some(id) = id {
        skills::remove_of(db, project, &MemoryId::new(id)).await?;
    }
    let NewMemory {
        embedder,
        vector,
        created_at,
        ..
    } = memory;
    vectors::put(db, key, embedder, vector, *created_at).await
}

pub(super) async fn set_utility(
    db: &Db<'_>,
    project: i64,
    key: MemoryKey,
    q: f64,
    uses: u64,
) -> Result<(), Fault> {
    let uses = i64::try_from(uses).unwrap_or(i64::MAX);
    db.execute(
        "UPDATE memory SET q = $2, uses = $3, revision = $4 WHERE key = $1",
        params![key, q, uses, next_revision(db, project).await?],
    )
    .await?;
    Ok(())
}

/// Sketches all memories of a database of an older format.
pub(super) async fn sketch_all(db: &Db<'_>) -> Result<(), Fault> {
    const PAGE: i64 = 1_000;

    let mut last = 0_i64;
    loop {
        let rows = db
            .query(
                "SELECT key, task, reflection FROM memory WHERE key > $1 ORDER BY key LIMIT $2",
                params![last, PAGE],
            )
            .await?;
        for found in &rows {
            last = found.get(0)?;
            let (task, reflection): (String, _) = (found.get(1)?, row::json(found, 2)?);
            db.execute(
                "UPDATE memory SET task_sketch = $2, text_sketch = $3 WHERE key = $1 \
                     AND (task_sketch IS DISTINCT FROM $2 OR text_sketch IS DISTINCT FROM $3)",
                params![last, task_sketch(&task), text_sketch(&reflection)],
            )
            .await?;
        }
        if rows.is_empty() {
            return Ok(());
        }
    }
}

/// Sets a memory aside, and deletes a skill that was written from it. The traces with an event of it
/// ignore it from now on.
pub(super) async fn withdraw(db: &Db<'_>, project: i64, id: &MemoryId) -> Result<(), Fault> {
    let Some(key) = key_of(db, project, id).await? else {
        return Ok(());
    };
    ignored::ignore(db, project, key, id).await?;
    skills::remove_of(db, project, id).await?;
    db.execute(
        "UPDATE memory SET status = 'withdrawn', revision = $2 WHERE key = $1",
        params![key, next_revision(db, project).await?],
    )
    .await?;
    Ok(())
}

/// Gives a memory the content of a past state of its review, and makes it active.
pub(super) async fn restore(
    db: &Db<'_>,
    project: i64,
    id: &MemoryId,
    content: &LearnedContent,
) -> Result<(), Fault> {
    let Some(key) = key_of(db, project, id).await? else {
        return Ok(());
    };
    let LearnedContent {
        learned,
        verdict,
        alpha,
        teacher,
    } = content;
    db.execute(
        "UPDATE memory SET reflection = $2, success = $3, key_id = $4, reviewer_model = \
             $5, generation = $6, status = CASE WHEN status = 'withdrawn' THEN 'active' ELSE \
             status END, revision = $7, alpha = $8, text_sketch = $9 WHERE key = $1",
        params![
            key,
            row::to_json(&learned.reflection)?,
            *verdict == Verdict::Pass,
            teacher.key_id.as_ref().map(KeyId::as_str),
            teacher.reviewer.model_name(),
            learned.generation,
            next_revision(db, project).await?,
            alpha,
            text_sketch(&learned.reflection),
        ],
    )
    .await?;
    ignored::count(db, project, key, id).await
}

/// The key of a memory, also of one that is withdrawn.
pub(super) async fn key_of(
    db: &Db<'_>,
    project: i64,
    id: &MemoryId,
) -> Result<Option<MemoryKey>, Fault> {
    db.value(
        "SELECT key FROM memory WHERE id = $1 AND project = $2",
        params![id.as_str(), project],
    )
    .await
}

/// The stored status of a memory.
pub(super) async fn status(
    db: &Db<'_>,
    project: i64,
    id: &MemoryId,
) -> Result<Option<String>, Fault> {
    db.value(
        "SELECT status FROM memory WHERE id = $1 AND project = $2",
        params![id.as_str(), project],
    )
    .await
}

/// Deletes a memory with its events, its earlier contents and a skill that was written from it. The
/// traces with such an event ignore it from now on.
pub(super) async fn remove(db: &Db<'_>, project: i64, id: &MemoryId) -> Result<(), Fault> {
    let Some(key) = key_of(db, project, id).await? else {
        return Ok(());
    };
    ignored::ignore(db, project, key, id).await?;
    skills::remove_of(db, project, id).await?;
    for earlier in [
        "UPDATE past_review SET learned = NULL WHERE memory_id = $2 AND trace IN (SELECT t.key \
             FROM memory m JOIN trace t ON t.project = m.project AND t.id = m.trace_id \
             WHERE m.key = $1)",
        "UPDATE deleted_review SET learned = NULL WHERE memory_id = $2 AND (project, trace_id) = \
             (SELECT project, trace_id FROM memory WHERE key = $1)",
    ] {
        db.execute(earlier, params![key, id.as_str()]).await?;
    }
    memory_changes::forget(db, project, id).await?;
    db.execute("DELETE FROM memory WHERE key = $1", params![key])
        .await?;
    db.execute(
        "INSERT INTO deleted_memory (memory, project, revision) VALUES ($1, $2, $3)",
        params![key, project, next_revision(db, project).await?],
    )
    .await?;
    Ok(())
}

pub(super) async fn get(
    db: &Db<'_>,
    project: &ProjectId,
    id: &MemoryId,
) -> Result<Option<MemoryHistory>, Fault> {
    let rows = db
        .query(
            &format!(
                "SELECT {} FROM memory m JOIN project p ON p.key = m.project \
         WHERE m.id = $1 AND p.id = $2 AND m.status <> 'withdrawn'",
                row::MEMORY
            ),
            params![id.as_str(), project.as_str()],
        )
        .await?;
    Ok(histories::of(db, &rows).await?.into_iter().next())
}

pub(super) async fn list(
    db: &Db<'_>,
    project: &ProjectId,
    list: &ListMemories,
) -> Result<Page<MemoryHistory>, Fault> {
    let project = projects::key(db, project).await?;
    let before: i64 = match &list.before {
        // Without a project this finds nothing: NULL equals nothing.
        Some(id) => db
            .value(
                "SELECT key FROM memory WHERE id = $1 AND project = $2",
                params![id.as_str(), project],
            )
            .await?
            .ok_or_else(|| Error::unknown_cursor("before", "memory", id.as_str()))?,
        None => i64::MAX,
    };
    let Some(project) = project else {
        return Ok(Page::default());
    };
    let limit = list.limit.unwrap_or(ListMemories::DEFAULT_LIMIT) as usize;
    let status = list.status.as_ref().map(MemoryStatus::as_str);
    // One more than the limit shows whether another page follows.
    let rows = db.query(&format!(
        "SELECT {} FROM memory m WHERE m.project = $1 AND m.key < $2 AND m.status <> 'withdrawn' \
             AND ($4::text IS NULL OR $4 = \
                 CASE m.status WHEN 'active' THEN coalesce(m.aside, 'active') ELSE m.status END) \
         ORDER BY m.key DESC LIMIT $3",
        row::MEMORY
    ), params![project, before, row::limit(limit + 1), status]).await?;
    let (mut page, mut bytes) = (Page::default(), 0);
    for portion in rows.chunks(histories::PORTION) {
        let read = histories::of(db, portion).await?;
        for (found, history) in portion.iter().zip(read) {
            if page.items.len() == limit || bytes > page::PAGE_BYTES {
                page.more = true;
                return Ok(page);
            }
            bytes += page_bytes(found, &history, 0);
            page.items.push(history);
        }
    }
    Ok(page)
}

pub(super) async fn best(
    db: &Db<'_>,
    project: &ProjectId,
    success: bool,
    limit: usize,
) -> Result<Vec<MemoryRecord>, Fault> {
    let rows = db
        .query(
            &format!(
                "SELECT {} FROM memory m JOIN project p ON p.key = m.project \
         WHERE p.id = $1 AND m.success = $2 AND m.status = 'active' AND m.aside IS NULL \
         ORDER BY m.q DESC, m.uses DESC, m.key DESC LIMIT $3",
                row::MEMORY
            ),
            params![project.as_str(), success, row::limit(limit)],
        )
        .await?;
    let mut best = Vec::new();
    for found in &rows {
        best.push(row::memory(found)?);
    }
    Ok(best)
}

pub(super) async fn by_key(
    db: &Db<'_>,
    project: &ProjectId,
    keys: &[MemoryKey],
) -> Result<Vec<(MemoryKey, MemoryRecord)>, Fault> {
    let select = format!(
        "SELECT {} FROM memory m JOIN project p ON p.key = m.project \
         WHERE m.key = ANY($1) AND p.id = $2 AND m.status = 'active' AND m.aside IS NULL",
        row::MEMORY
    );
    let rows = db.query(&select, params![keys, project.as_str()]).await?;
    rows.iter()
        .map(|row| Ok((row.get(0)?, row::memory(row)?)))
        .collect()
}
