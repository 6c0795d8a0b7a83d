//! What reviews and undos write of memories.

use std::collections::BTreeMap;

use reflect_types::{MemoryId, Verdict};

use super::db::Db;
use super::fault::Fault;
use super::ignored::{self, Ignored};
use super::memory_rows::keys_of;
use super::row::to_json;
use super::value::{Rows, params};
use super::{memory_changes, projects, skills, vectors};
use crate::learn;
use crate::review::{LearnedContent, MemoryWrite, NewMemory, Teacher};
use crate::store::sketches::{task_sketch, text_sketch};
use crate::store::{MemoryKey, STAGED};

/// Writes the memories of traces.
pub(super) async fn write(
    db: &Db<'_>,
    project: i64,
    writes: &[(i64, &MemoryWrite)],
) -> Result<(), Fault> {
    let mut new = Vec::new();
    for (trace, write) in writes {
        match write {
            MemoryWrite::Keep => {}
            MemoryWrite::Insert {
                memory,
                success,
                alpha,
                teacher,
            } => new.push((*trace, Content::new(memory, *success, *alpha, teacher)?)),
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
             created_at text, task text, reflection text, key_id text, reviewer text, \
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
            content.teacher.reviewer,
            content.alpha,
            content.task_sketch,
            content.text_sketch,
            STAGED,
        ]);
    }
    let staged = "p.approve IS NOT NULL \
         AND (p.approve <> 'models' OR coalesce(r.reviewer, 'program') <> 'program')";
    let insert = format!(
        "INSERT INTO memory (project, id, trace_id, success, q, revision, created_at, metadata, task, \
             reflection, key_id, reviewer, given, alpha, task_sketch, text_sketch, hidden, \
             hidden_reason, hidden_at, needs_approval) \
         SELECT r.project, r.id, t.id, r.success, r.q, r.revision, r.created_at, t.metadata, r.task, \
             r.reflection, r.key_id, r.reviewer, t.retrieved, r.alpha, r.task_sketch, r.text_sketch, \
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
                 reviewer = $7, task = $8, alpha = $9, task_sketch = $10, text_sketch = $11, \
                 generation = generation + 1 WHERE project = $1 AND key = $2 RETURNING id",
            &params![
                project,
                key,
                content.reflection,
                content.success,
                revision,
                content.teacher.key_id,
                content.teacher.reviewer,
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
             reviewer text, generation bigint, revision bigint, alpha float8, text_sketch text",
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
            content.teacher.reviewer,
            content.learned.generation,
            revision,
            content.alpha,
            sketch,
        ]);
    }
    db.execute_rows(
        "UPDATE memory SET reflection = r.reflection, success = r.success, key_id = r.key_id, \
             reviewer = r.reviewer, generation = r.generation, \
             status = CASE WHEN memory.status = 'withdrawn' THEN 'active' ELSE memory.status END, \
             revision = r.revision, alpha = r.alpha, text_sketch = r.text_sketch \
         FROM {rows} WHERE memory.project = r.project AND memory.id = r.id",
        &rows,
    )
    .await?;
    let restored: Vec<(MemoryKey, &MemoryId)> = keys.iter().map(|(id, key)| (*key, id)).collect();
    ignored::change(db, project, &restored, Ignored::Forgotten).await
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
