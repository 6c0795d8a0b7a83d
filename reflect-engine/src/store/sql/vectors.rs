//! The vectors of memories.

use std::collections::BTreeMap;

use jiff::Timestamp;
use reflect_types::ProjectId;

use super::db::Db;
use super::fault::Fault;
use super::value::{Rows, params};
use super::{embedders, projects};
use crate::review::NewMemory;
use crate::store::{MemoryKey, ProjectRow, UnembeddedMemory, UnusedVectors, VectorSpace};

pub(super) async fn get(
    db: &Db<'_>,
    project: &ProjectId,
    space: &VectorSpace,
    keys: &[MemoryKey],
) -> Result<Vec<(MemoryKey, Vec<f32>)>, Fault> {
    // Not of the memory, which need not be read: a key is never used again.
    let rows = db
        .query(
            "SELECT e.memory, e.vector FROM embedding e \
             WHERE e.project = (SELECT key FROM project WHERE id = $4) AND e.memory = ANY($1) \
                 AND e.embedder = (SELECT key FROM embedder WHERE id = $2 AND ($3::bigint = 0 OR dims = $3) \
                     ORDER BY seen_at DESC, key DESC LIMIT 1)",
            &params![keys, space.embedder, space.dims, project],
        )
        .await?;
    let vectors = rows.into_iter().map(|mut row| {
        let vector = row.take_vector("vector")?.unwrap_or_default();
        Ok((row.get("memory")?, vector))
    });
    vectors.collect()
}

/// Adds the vectors of memories that were learned, or replaces those of the same space.
pub(super) async fn put_new(
    db: &Db<'_>,
    project: i64,
    memories: &[(MemoryKey, &NewMemory)],
) -> Result<(), Fault> {
    let vectors = memories.iter().map(|(key, memory)| {
        let space = VectorSpace::new(memory.embedder.as_str(), memory.vector.len());
        (project, *key, space, memory.vector.as_slice())
    });
    let now = memories.iter().map(|(_, memory)| memory.created_at).max();
    put(db, &vectors.collect::<Vec<_>>(), now.unwrap_or_default()).await
}

/// A vector: its project, its memory, its space and itself.
pub(super) type NewVector<'a> = (i64, MemoryKey, VectorSpace, &'a [f32]);

/// Adds vectors, or replaces those of the same space.
pub(super) async fn put(
    db: &Db<'_>,
    vectors: &[NewVector<'_>],
    now: Timestamp,
) -> Result<(), Fault> {
    let mut known = std::collections::HashMap::<&VectorSpace, i64>::new();
    let mut rows = Rows::new("project bigint, memory bigint, embedder bigint, vector vector");
    for (project, memory, space, vector) in vectors {
        let embedder = match known.get(space) {
            Some(embedder) => *embedder,
            None => embedders::key_or_create(db, space, now).await?,
        };
        known.insert(space, embedder);
        rows.push(params![project, memory, embedder, *vector]);
    }
    let same = "(project, memory, embedder)";
    db.insert_or_replace("embedding", &rows, same).await
}

/// Deletes all vectors of a memory, if this is not its task.
pub(super) async fn forget_other_task(
    db: &Db<'_>,
    project: i64,
    memory: MemoryKey,
    task: &str,
) -> Result<(), Fault> {
    let forget = "DELETE FROM embedding WHERE project = $1 AND memory = $2 \
         AND (SELECT task FROM memory WHERE project = $1 AND key = $2) <> $3";
    db.execute(forget, &params![project, memory, task])
        .await
        .map(drop)
}

pub(super) async fn set(
    db: &Db<'_>,
    space: &VectorSpace,
    vectors: &[(UnembeddedMemory, Vec<f32>)],
    now: Timestamp,
) -> Result<(), Fault> {
    let mut by_project = BTreeMap::<i64, Vec<&(UnembeddedMemory, Vec<f32>)>>::new();
    for vector in vectors {
        by_project.entry(vector.0.project).or_default().push(vector);
    }
    let projects: Vec<i64> = by_project.keys().copied().collect();
    projects::lock_keys(db, &projects).await?;
    for (project, vectors) in by_project {
        let keys: Vec<MemoryKey> = vectors.iter().map(|(memory, _)| memory.key).collect();
        let select = "SELECT key, task FROM memory WHERE project = $1 AND key = ANY($2)";
        let rows = db.query(select, &params![project, keys]).await?;
        let mut tasks = BTreeMap::new();
        for row in &rows {
            tasks.insert(row.get::<MemoryKey>("key")?, row.text("task")?);
        }
        let current = vectors
            .into_iter()
            .filter(|(memory, _)| tasks.get(&memory.key) == Some(&memory.task.as_str()));
        let new: Vec<NewVector<'_>> = current
            .map(|(memory, vector)| (project, memory.key, space.clone(), vector.as_slice()))
            .collect();
        if new.is_empty() {
            continue;
        }
        put(db, &new, now).await?;
        let revisions = projects::next_revisions(db, project, new.len()).await?;
        let mut rows = Rows::new("project bigint, key bigint, revision bigint");
        for ((_, memory, ..), revision) in new.iter().zip(revisions) {
            rows.push(params![project, memory, revision]);
        }
        db.update("memory", &rows).await?;
    }
    Ok(())
}

/// Whether the memory of a vector `e` has none of the space of the first two parameters.
const LACKS: &str = "NOT EXISTS (SELECT 1 FROM embedding o WHERE o.project = e.project \
     AND o.memory = e.memory AND o.embedder IN (SELECT key FROM embedder WHERE id = $1 \
         AND ($2::bigint = 0 OR dims = $2)))";

pub(super) async fn unembedded(
    db: &Db<'_>,
    space: &VectorSpace,
    after: ProjectRow,
    limit: usize,
) -> Result<Vec<UnembeddedMemory>, Fault> {
    // By the vectors of others, whose index has no texts.
    let select = format!(
        "SELECT m.project, m.key, m.task FROM memory m JOIN ( \
             SELECT DISTINCT e.project, e.memory FROM embedding e \
             WHERE (e.project, e.memory) > ($3, $4) AND {LACKS} ORDER BY e.project, e.memory LIMIT $5 \
         ) lacking ON lacking.project = m.project AND lacking.memory = m.key ORDER BY m.project, m.key"
    );
    let values = params![space.embedder, space.dims, after.project, after.key, limit];
    let found = db.query(&select, &values).await?;
    let found = found.iter().map(|row| {
        Ok(UnembeddedMemory {
            project: row.get("project")?,
            key: row.get("key")?,
            task: row.get("task")?,
        })
    });
    found.collect()
}

pub(super) async fn count_unembedded(
    db: &Db<'_>,
    space: &VectorSpace,
    project: Option<&ProjectId>,
) -> Result<u64, Fault> {
    let count = match project {
        None => format!(
            "SELECT count(*) FROM (SELECT DISTINCT e.project, e.memory FROM embedding e \
             WHERE $3::text IS NULL AND {LACKS}) lacking"
        ),
        Some(_) => format!(
            "SELECT count(DISTINCT e.memory) FROM memory m \
                 JOIN embedding e ON e.project = m.project AND e.memory = m.key \
             WHERE m.project = (SELECT key FROM project WHERE id = $3) \
                 AND m.status = 'active' AND m.hidden IS NULL AND {LACKS}"
        ),
    };
    db.one(&count, &params![space.embedder, space.dims, project])
        .await?
        .first()
}

pub(super) async fn delete_unused(
    db: &Db<'_>,
    unused: &UnusedVectors,
    after: ProjectRow,
    limit: usize,
) -> Result<Option<ProjectRow>, Fault> {
    // Locked until the end: an engine that comes back with it waits, and embeds what is gone.
    let lock = "SELECT key FROM embedder WHERE id = $1 AND dims = $2 AND seen_at <= $3 FOR UPDATE";
    let since = unused.unseen_since.as_millisecond();
    let embedder: Option<i64> = db
        .value(
            lock,
            &params![unused.space.embedder, unused.space.dims, since],
        )
        .await?;
    let (Some(embedder), Some(kept)) = (embedder, embedders::key(db, &unused.kept).await?) else {
        return Ok(None);
    };
    let select = "SELECT e.project, e.memory FROM embedding e \
         WHERE (e.project, e.memory) > ($3, $4) AND e.embedder = $1 \
             AND EXISTS (SELECT 1 FROM embedding k WHERE k.project = e.project \
                 AND k.memory = e.memory AND k.embedder = $2) \
         ORDER BY e.project, e.memory LIMIT $5";
    let values = params![embedder, kept, after.project, after.key, limit];
    let found = db.query(select, &values).await?;
    let mut rows = Rows::new("project bigint, memory bigint, embedder bigint");
    let mut last = None;
    for row in &found {
        let (project, key): (i64, i64) = (row.get("project")?, row.get("memory")?);
        rows.push(params![project, key, embedder]);
        last = Some(ProjectRow { project, key });
    }
    let delete = "DELETE FROM embedding WHERE (project, memory, embedder) IN \
         (SELECT r.project, r.memory, r.embedder FROM {rows})";
    db.execute_rows(delete, &rows).await?;
    if found.len() == limit {
        return Ok(last);
    }
    embedders::remove_empty(db, embedder, &unused.space).await?;
    Ok(None)
}
