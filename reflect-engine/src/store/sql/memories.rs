//! Memories.

use std::collections::BTreeMap;

use reflect_types::{
    Aside, ListMemories, MemoryHistory, MemoryId, MemoryRecord, Page, ProjectId, Verdict,
};

use super::db::Db;
use super::fault::Fault;
use super::ignored::{self, Ignored};
use super::reviews::Decided;
use super::row::{Row, to_json};
use super::value::{Rows, params};
use super::{histories, memory_changes, projects, skills, vectors};
use crate::error::Error;
use crate::learn;
use crate::review::{LearnedContent, MemoryWrite, NewMemory, Teacher};
use crate::store::sketches::{task_sketch, text_sketch};
use crate::store::{MemoryKey, STAGED, page};

/// The columns of [`read`], from `memory m`.
pub(super) const MEMORY: &str = "m.key, m.id, m.trace_id, m.task, m.reflection, m.success, m.q, \
     m.uses, m.metadata, m.created_at, m.key_id, m.reviewer_model, m.given, m.alpha, m.generation, \
     CASE m.status WHEN 'active' THEN coalesce(m.hidden, 'active') ELSE m.status END AS status, \
     CASE WHEN m.status = 'active' THEN m.hidden_reason END AS hidden_reason, m.hidden_at, \
     CASE WHEN m.status = 'active' THEN (SELECT x.id FROM memory x \
         WHERE x.project = m.project AND x.key = m.hidden_into) END AS merged_into";

pub(super) fn read(row: &Row) -> Result<MemoryRecord, Fault> {
    Ok(MemoryRecord {
        id: row.get("id")?,
        trace_id: row.get("trace_id")?,
        task: row.get("task")?,
        reflection: row.json("reflection")?,
        success: row.get("success")?,
        q_value: row.get("q")?,
        uses: row.get("uses")?,
        metadata: row.json("metadata")?,
        created_at: row.get("created_at")?,
        status: row.get("status")?,
        key_id: row.get("key_id")?,
        reviewer: Some(row.reviewer()?),
        retrieved_memory_ids: row.json("given")?,
        alpha: Some(row.get("alpha")?),
        aside: match (row.get("hidden_reason")?, row.get("hidden_at")?) {
            (Some(reason), Some(since)) => Some(Aside { reason, since }),
            _ => None,
        },
        merged_into: row.get("merged_into")?,
    })
}

/// Writes the memories of traces.
pub(super) async fn write(db: &Db<'_>, project: i64, decided: &[Decided<'_>]) -> Result<(), Fault> {
    let mut new = Vec::new();
    for decided in decided {
        match &decided.writes.memory {
            MemoryWrite::Keep => {}
            MemoryWrite::Insert {
                memory,
                success,
                alpha,
                teacher,
            } => new.push((
                decided.trace,
                Content::new(memory, *success, *alpha, teacher)?,
            )),
            MemoryWrite::Rewrite {
                key,
                memory,
                success,
                alpha,
                teacher,
            } => {
                let content = Content::new(memory, *success, *alpha, teacher)?;
                rewrite(db, project, *key, &content).await?;
            }
            MemoryWrite::Withdraw(id) => withdraw(db, project, id).await?,
        }
    }
    insert(db, project, &new).await
}

/// What a memory has from its review.
struct Content<'a> {
    memory: &'a NewMemory,
    reflection: String,
    success: bool,
    alpha: f64,
    teacher: &'a Teacher,
    task_sketch: Option<String>,
    text_sketch: Option<String>,
}

impl<'a> Content<'a> {
    fn new(
        memory: &'a NewMemory,
        success: bool,
        alpha: f64,
        teacher: &'a Teacher,
    ) -> Result<Self, Fault> {
        Ok(Self {
            memory,
            reflection: to_json(&memory.reflection)?,
            success,
            alpha,
            teacher,
            task_sketch: task_sketch(&memory.task),
            text_sketch: text_sketch(&memory.reflection),
        })
    }
}

/// Inserts the memories of traces.
async fn insert(db: &Db<'_>, project: i64, new: &[(i64, Content<'_>)]) -> Result<(), Fault> {
    if new.is_empty() {
        return Ok(());
    }
    let revisions = projects::next_revisions(db, project, new.len()).await?;
    let mut rows = Rows::new(
        "project bigint, trace bigint, id text, success boolean, q float8, revision bigint, \
             created_at text, task text, reflection text, key_id text, reviewer_model text, \
             alpha float8, task_sketch text, text_sketch text, reason text",
    );
    for ((trace, content), revision) in new.iter().zip(revisions) {
        let memory = content.memory;
        rows.push(params![
            project,
            trace,
            memory.id,
            content.success,
            learn::INITIAL,
            revision,
            memory.created_at,
            memory.task,
            content.reflection,
            content.teacher.key_id,
            content.teacher.reviewer.model_name(),
            content.alpha,
            content.task_sketch,
            content.text_sketch,
            STAGED,
        ]);
    }
    let staged =
        "p.approve IS NOT NULL AND (p.approve <> 'models' OR r.reviewer_model IS NOT NULL)";
    let insert = format!(
        "INSERT INTO memory (project, id, trace_id, success, q, revision, created_at, metadata, task, \
             reflection, key_id, reviewer_model, given, alpha, task_sketch, text_sketch, hidden, \
             hidden_reason, hidden_at, needs_approval) \
         SELECT r.project, r.id, t.id, r.success, r.q, r.revision, r.created_at, t.metadata, r.task, \
             r.reflection, r.key_id, r.reviewer_model, t.retrieved, r.alpha, r.task_sketch, r.text_sketch, \
             CASE WHEN {staged} THEN 'staged' END, CASE WHEN {staged} THEN r.reason END, \
             CASE WHEN {staged} THEN r.created_at END, {staged} \
         FROM {{rows}} JOIN trace t ON t.project = r.project AND t.key = r.trace \
             JOIN project p ON p.key = r.project ORDER BY r.place RETURNING key, id"
    );
    let inserted = db.query_rows(&insert, &rows).await?;
    let mut keys = BTreeMap::new();
    for row in &inserted {
        keys.insert(row.get::<MemoryId>("id")?, row.get::<MemoryKey>("key")?);
    }
    let mut added = Vec::with_capacity(new.len());
    for (_, Content { memory, .. }) in new {
        let key = keys.get(&memory.id);
        let key = key.ok_or_else(|| Fault::Data("a memory has no trace".to_owned()))?;
        added.push((*key, *memory));
    }
    vectors::put_new(db, project, &added).await
}

/// Replaces the content of a memory, and deletes a skill that was written from it.
async fn rewrite(
    db: &Db<'_>,
    project: i64,
    key: MemoryKey,
    content: &Content<'_>,
) -> Result<(), Fault> {
    let memory = content.memory;
    vectors::forget_other_task(db, project, key, &memory.task).await?;
    let revision = projects::next_revision(db, project).await?;
    let id: Option<MemoryId> = db
        .value(
            "UPDATE memory SET reflection = $3, success = $4, revision = $5, key_id = $6, \
                 reviewer_model = $7, task = $8, alpha = $9, task_sketch = $10, text_sketch = $11, \
                 generation = generation + 1 WHERE project = $1 AND key = $2 RETURNING id",
            &params![
                project,
                key,
                content.reflection,
                content.success,
                revision,
                content.teacher.key_id,
                content.teacher.reviewer.model_name(),
                memory.task,
                content.alpha,
                content.task_sketch,
                content.text_sketch,
            ],
        )
        .await?;
    if let Some(id) = id {
        skills::remove_of(db, project, &[&id]).await?;
    }
    vectors::put_new(db, project, &[(key, memory)]).await
}

/// Withdraws a memory, and deletes a skill that was written from it. The traces with an event of it ignore it from now
/// on.
async fn withdraw(db: &Db<'_>, project: i64, id: &MemoryId) -> Result<(), Fault> {
    let keys = keys_of(db, project, &[id]).await?;
    let Some(key) = keys.get(id) else {
        return Ok(());
    };
    ignored::change(db, project, &[(*key, id)], Ignored::Named).await?;
    skills::remove_of(db, project, &[id]).await?;
    let revision = projects::next_revision(db, project).await?;
    let withdraw =
        "UPDATE memory SET status = 'withdrawn', revision = $3 WHERE project = $1 AND key = $2";
    db.execute(withdraw, &params![project, key, revision])
        .await
        .map(drop)
}

/// Gives memories the content of past states of their reviews, and makes them active.
pub(super) async fn restore(
    db: &Db<'_>,
    project: i64,
    contents: &[(MemoryId, LearnedContent)],
) -> Result<(), Fault> {
    let ids: Vec<&MemoryId> = contents.iter().map(|(id, _)| id).collect();
    let keys = keys_of(db, project, &ids).await?;
    if keys.is_empty() {
        return Ok(());
    }
    let texts = contents.iter().map(|(_, content)| {
        let reflection = &content.learned.reflection;
        Ok((to_json(reflection)?, text_sketch(reflection)))
    });
    let texts: Vec<(String, Option<String>)> = texts.collect::<Result<_, Fault>>()?;
    let revisions = projects::next_revisions(db, project, contents.len()).await?;
    let mut rows = Rows::new(
        "project bigint, id text, reflection text, success boolean, key_id text, \
             reviewer_model text, generation bigint, revision bigint, alpha float8, text_sketch text",
    );
    for (((id, content), (reflection, sketch)), revision) in
        contents.iter().zip(&texts).zip(revisions)
    {
        rows.push(params![
            project,
            id,
            reflection,
            content.verdict == Verdict::Pass,
            content.teacher.key_id,
            content.teacher.reviewer.model_name(),
            content.learned.generation,
            revision,
            content.alpha,
            sketch,
        ]);
    }
    db.execute_rows(
        "UPDATE memory SET reflection = r.reflection, success = r.success, key_id = r.key_id, \
             reviewer_model = r.reviewer_model, generation = r.generation, \
             status = CASE WHEN memory.status = 'withdrawn' THEN 'active' ELSE memory.status END, \
             revision = r.revision, alpha = r.alpha, text_sketch = r.text_sketch \
         FROM {rows} WHERE memory.project = r.project AND memory.id = r.id",
        &rows,
    )
    .await?;
    let restored: Vec<(MemoryKey, &MemoryId)> = keys.iter().map(|(id, key)| (*key, id)).collect();
    ignored::change(db, project, &restored, Ignored::Forgotten).await
}

/// The keys of memories, also of those that are withdrawn.
pub(super) async fn keys_of(
    db: &Db<'_>,
    project: i64,
    ids: &[&MemoryId],
) -> Result<BTreeMap<MemoryId, MemoryKey>, Fault> {
    let names: Vec<&str> = ids.iter().map(|id| id.as_str()).collect();
    let select = "SELECT id, key FROM memory WHERE project = $1 AND id = ANY($2)";
    let rows = db.query(select, &params![project, names]).await?;
    rows.iter()
        .map(|row| Ok((row.get("id")?, row.get("key")?)))
        .collect()
}

/// The stored status of a memory.
pub(super) async fn status(
    db: &Db<'_>,
    project: i64,
    id: &MemoryId,
) -> Result<Option<String>, Fault> {
    let select = "SELECT status FROM memory WHERE project = $1 AND id = $2";
    db.value(select, &params![project, id]).await
}

/// Deletes memories with their events, their earlier contents and a skill that was written from one. The traces with
/// such an event ignore the memory from now on.
pub(super) async fn remove(db: &Db<'_>, project: i64, ids: &[&MemoryId]) -> Result<(), Fault> {
    let keys = keys_of(db, project, ids).await?;
    if keys.is_empty() {
        return Ok(());
    }
    let gone: Vec<(MemoryKey, &MemoryId)> = keys.iter().map(|(id, key)| (*key, id)).collect();
    ignored::change(db, project, &gone, Ignored::Named).await?;
    skills::remove_of(db, project, ids).await?;
    let names: Vec<&str> = keys.keys().map(MemoryId::as_str).collect();
    let of_memories = "UPDATE review SET learned = NULL \
         WHERE project = $1 AND state <> 'current' AND memory_id = ANY($2)";
    db.execute(of_memories, &params![project, names]).await?;
    memory_changes::forget(db, project, &names).await?;
    let keys: Vec<MemoryKey> = keys.values().copied().collect();
    let delete = "DELETE FROM memory WHERE project = $1 AND key = ANY($2)";
    db.execute(delete, &params![project, keys]).await?;
    let revisions = projects::next_revisions(db, project, keys.len()).await?;
    let mut rows = Rows::new("project bigint, revision bigint, memory bigint");
    for (key, revision) in keys.iter().zip(revisions.clone()) {
        rows.push(params![project, revision, key]);
    }
    db.insert("deleted_memory", &rows).await?;
    let followed = revisions.start - crate::store::Revision::FOLLOWED;
    let forget = "DELETE FROM deleted_memory WHERE project = $1 AND revision < $2";
    db.execute(forget, &params![project, followed])
        .await
        .map(drop)
}

pub(super) async fn get(
    db: &Db<'_>,
    project: &ProjectId,
    id: &MemoryId,
) -> Result<Option<MemoryHistory>, Fault> {
    let Some(project) = projects::key(db, project).await? else {
        return Ok(None);
    };
    let select = format!(
        "SELECT {MEMORY} FROM memory m \
         WHERE m.project = $1 AND m.id = $2 AND m.status <> 'withdrawn'"
    );
    let rows = db.query(&select, &params![project, id]).await?;
    Ok(histories::of(db, project, &rows).await?.into_iter().next())
}

pub(super) async fn list(
    db: &Db<'_>,
    project: &ProjectId,
    list: &ListMemories,
) -> Result<Page<MemoryHistory>, Fault> {
    let project = projects::key(db, project).await?;
    let before = match &list.before {
        Some(id) => cursor(db, project, "before", id).await?,
        None => i64::MAX,
    };
    let Some(project) = project else {
        return Ok(Page::default());
    };
    let limit = list.limit.unwrap_or(ListMemories::DEFAULT_LIMIT) as usize;
    // One more than the limit shows whether another page follows.
    let select = format!(
        "SELECT {MEMORY} FROM memory m WHERE m.project = $1 AND m.key < $2 AND m.status <> 'withdrawn' \
             AND ($4::text IS NULL OR $4 = \
                 CASE m.status WHEN 'active' THEN coalesce(m.hidden, 'active') ELSE m.status END) \
         ORDER BY m.key DESC LIMIT $3"
    );
    let values = params![project, before, limit + 1, list.status];
    let rows = db.query(&select, &values).await?;
    let (mut page, mut bytes) = (Page::default(), 0);
    for portion in rows.chunks(histories::PORTION) {
        let read = histories::of(db, project, portion).await?;
        for (found, history) in portion.iter().zip(read) {
            if page.items.len() == limit || bytes > page::PAGE_BYTES {
                page.more = true;
                return Ok(page);
            }
            bytes += found.bytes() + page::history_bytes(&history, 0);
            page.items.push(history);
        }
    }
    Ok(page)
}

/// The key of the memory that a cursor names.
pub(super) async fn cursor(
    db: &Db<'_>,
    project: Option<i64>,
    field: &'static str,
    id: &MemoryId,
) -> Result<MemoryKey, Fault> {
    // Without a project this finds nothing: NULL equals nothing.
    let select = "SELECT key FROM memory WHERE project = $1 AND id = $2";
    let key = db.value(select, &params![project, id]).await?;
    key.ok_or_else(|| Error::unknown_cursor(field, "memory", id.as_str()).into())
}

pub(super) async fn best(
    db: &Db<'_>,
    project: &ProjectId,
    success: bool,
    limit: usize,
) -> Result<Vec<MemoryRecord>, Fault> {
    let select = format!(
        "SELECT {MEMORY} FROM project p JOIN memory m ON m.project = p.key \
         WHERE p.id = $1 AND m.success = $2 AND m.status = 'active' AND m.hidden IS NULL \
         ORDER BY m.q DESC, m.uses DESC, m.key DESC LIMIT $3"
    );
    let rows = db.query(&select, &params![project, success, limit]).await?;
    rows.iter().map(read).collect()
}

pub(super) async fn by_key(
    db: &Db<'_>,
    project: &ProjectId,
    keys: &[MemoryKey],
) -> Result<Vec<(MemoryKey, MemoryRecord)>, Fault> {
    let select = format!(
        "SELECT {MEMORY} FROM project p JOIN memory m ON m.project = p.key \
         WHERE p.id = $1 AND m.key = ANY($2) AND m.status = 'active' AND m.hidden IS NULL"
    );
    let rows = db.query(&select, &params![project, keys]).await?;
    rows.iter()
        .map(|row| Ok((row.get("key")?, read(row)?)))
        .collect()
}
