//! The vectors of memories.

use async_trait::async_trait;
use jiff::Timestamp;
use reflect_types::ProjectId;
use rusqlite::{Connection, OptionalExtension, params};

use super::embedders::dims;
use super::fault::Fault;
use super::{Sqlite, blob, embedders, projects, reembeddings, row, snapshots};
use crate::error::Result;
use crate::store::{
    Claims, KnownEmbedder, Lease, MemoryKey, UnembeddedMemory, UnusedVectors, VectorSpace, Vectors,
};

#[async_trait]
impl Vectors for Sqlite {
    async fn vectors(
        &self,
        project: &ProjectId,
        space: &VectorSpace,
        keys: &[MemoryKey],
    ) -> Result<Vec<(MemoryKey, Vec<f32>)>> {
        let (project, space, keys) = (project.clone(), space.clone(), keys.to_vec());
        self.read(move |db| get(db, &project, &space, &keys)).await
    }

    async fn embedders(&self) -> Result<Vec<KnownEmbedder>> {
        self.read(embedders::list).await
    }

    async fn announce_embedder(
        &self,
        space: &VectorSpace,
        complete: bool,
        now: Timestamp,
    ) -> Result<()> {
        let space = space.clone();
        self.write(move |db| embedders::announce(db, &space, complete, now))
            .await
    }

    async fn unembedded(
        &self,
        space: &VectorSpace,
        after: MemoryKey,
        limit: usize,
    ) -> Result<Vec<UnembeddedMemory>> {
        let space = space.clone();
        self.read(move |db| unembedded(db, &space, after, limit))
            .await
    }

    async fn count_unembedded(
        &self,
        space: &VectorSpace,
        project: Option<&ProjectId>,
    ) -> Result<u64> {
        let (space, project) = (space.clone(), project.cloned());
        self.read(move |db| count_unembedded(db, &space, project.as_ref()))
            .await
    }

    async fn set_vectors(
        &self,
        space: &VectorSpace,
        vectors: Vec<(UnembeddedMemory, Vec<f32>)>,
        now: Timestamp,
    ) -> Result<()> {
        let space = space.clone();
        self.write(move |db| set(db, &space, &vectors, now)).await
    }

    async fn delete_unused_vectors(
        &self,
        unused: &UnusedVectors,
        after: MemoryKey,
        limit: usize,
    ) -> Result<Option<MemoryKey>> {
        let unused = unused.clone();
        self.write(move |db| delete_unused(db, &unused, after, limit))
            .await
    }

    async fn queue_reembedding(&self, embedder: &str, now: Timestamp, restart: bool) -> Result<()> {
        let embedder = embedder.to_owned();
        let sought = embedder.clone();
        let found = self.read(move |db| reembeddings::find(db, &sought));
        if !restart && found.await?.is_some() {
            return Ok(());
        }
        self.write(move |db| reembeddings::queue(db, &embedder, now, restart))
            .await
    }

    async fn claim_reembedding(
        &self,
        embedder: &str,
        now: Timestamp,
        lease: &Lease,
    ) -> Result<Claims> {
        let (embedder, lease) = (embedder.to_owned(), lease.clone());
        let sought = embedder.clone();
        // A look first: an idle engine must not take the write lock again and again.
        let found = self.read(move |db| reembeddings::find(db, &sought)).await?;
        let next_due = found.map(|job| job.due);
        if next_due.is_none_or(|due| due > now) {
            return Ok(Claims {
                jobs: Vec::new(),
                next_due,
            });
        }
        self.write(move |db| reembeddings::claim(db, &embedder, now, &lease))
            .await
    }
}

fn get(
    db: &Connection,
    project: &ProjectId,
    space: &VectorSpace,
    keys: &[MemoryKey],
) -> Result<Vec<(MemoryKey, Vec<f32>)>, Fault> {
    if projects::key(db, project)?.is_none() {
        return Ok(Vec::new());
    }
    let Some(embedder) = embedders::key(db, space)? else {
        return Ok(Vec::new());
    };
    // The memory itself need not be read: a key is never used again.
    let mut select =
        db.prepare_cached("SELECT vector FROM embedding WHERE memory = ?1 AND embedder = ?2")?;
    let mut found = Vec::with_capacity(keys.len());
    for key in keys {
        let mut rows = select.query(params![key, embedder])?;
        if let Some(row) = rows.next()? {
            found.push((*key, blob::decode(row, 0)?));
        }
    }
    Ok(found)
}

/// Adds the vector of a new memory.
pub(super) fn add(
    db: &Connection,
    memory: MemoryKey,
    embedder: &str,
    vector: &[f32],
    now: Timestamp,
) -> Result<(), Fault> {
    let space = VectorSpace::new(embedder, vector.len());
    let embedder = embedders::key_or_new(db, &space, now)?;
    db.prepare_cached("INSERT INTO embedding (memory, embedder, vector) VALUES (?1, ?2, ?3)")?
        .execute(params![memory, embedder, blob::encode(vector)])?;
    Ok(())
}

/// Deletes all vectors of a memory, if this is not its task.
pub(super) fn forget_other_task(
    db: &Connection,
    memory: MemoryKey,
    task: &str,
) -> Result<(), Fault> {
    db.prepare_cached(
        "DELETE FROM embedding WHERE memory = ?1 \
             AND (SELECT task FROM memory WHERE key = ?1) <> ?2",
    )?
    .execute(params![memory, task])?;
    Ok(())
}

/// Adds a vector, or replaces the one of the same space.
pub(super) fn put(
    db: &Connection,
    memory: MemoryKey,
    embedder: &str,
    vector: &[f32],
    now: Timestamp,
) -> Result<(), Fault> {
    let space = VectorSpace::new(embedder, vector.len());
    let embedder = embedders::key_or_new(db, &space, now)?;
    db.prepare_cached(
        "INSERT INTO embedding (memory, embedder, vector) VALUES (?1, ?2, ?3) \
         ON CONFLICT (memory, embedder) DO UPDATE SET vector = excluded.vector",
    )?
    .execute(params![memory, embedder, blob::encode(vector)])?;
    Ok(())
}

fn set(
    db: &Connection,
    space: &VectorSpace,
    vectors: &[(UnembeddedMemory, Vec<f32>)],
    now: Timestamp,
) -> Result<(), Fault> {
    for (UnembeddedMemory { key, task }, vector) in vectors {
        let project = db
            .prepare_cached("SELECT project FROM memory WHERE key = ?1 AND task = ?2")?
            .query_row(params![key, task], |row| row.get(0))
            .optional()?;
        let Some(project) = project else { continue };
        put(db, *key, &space.embedder, vector, now)?;
        db.prepare_cached("UPDATE memory SET revision = ?2 WHERE key = ?1")?
            .execute(params![key, projects::next_revision(db, project)?])?;
    }
    Ok(())
}

fn unembedded(
    db: &Connection,
    space: &VectorSpace,
    after: MemoryKey,
    limit: usize,
) -> Result<Vec<UnembeddedMemory>, Fault> {
    // By the vectors of others, whose index has no texts.
    let mut select = db.prepare_cached(
        "SELECT m.key, m.task FROM memory m JOIN ( \
             SELECT DISTINCT e.memory FROM embedding e WHERE e.memory > ?3 AND NOT EXISTS ( \
                 SELECT 1 FROM embedding o WHERE o.memory = e.memory AND o.embedder IN ( \
                     SELECT key FROM embedder WHERE id = ?1 AND (?2 = 0 OR dims = ?2))) \
             ORDER BY e.memory LIMIT ?4 \
         ) lacking ON lacking.memory = m.key ORDER BY m.key",
    )?;
    let found = select.query_map(
        params![space.embedder, dims(space), after, row::limit(limit)],
        |row| {
            let (key, task) = (row.get(0)?, row.get(1)?);
            Ok(UnembeddedMemory { key, task })
        },
    )?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

fn count_unembedded(
    db: &Connection,
    space: &VectorSpace,
    project: Option<&ProjectId>,
) -> Result<u64, Fault> {
    let lacks = "NOT EXISTS (SELECT 1 FROM embedding o WHERE o.memory = e.memory \
         AND o.embedder IN (SELECT key FROM embedder WHERE id = ?1 AND (?2 = 0 OR dims = ?2)))";
    let count = match project {
        None => format!("SELECT count(DISTINCT e.memory) FROM embedding e WHERE {lacks}"),
        Some(_) => format!(
            "SELECT count(DISTINCT e.memory) FROM memory m JOIN embedding e ON e.memory = m.key \
             WHERE m.project = (SELECT key FROM project WHERE id = ?3) AND m.status = 'active' \
                 AND m.aside IS NULL AND {lacks}"
        ),
    };
    let mut count = db.prepare_cached(&count)?;
    let mut rows = match project {
        None => count.query(params![space.embedder, dims(space)])?,
        Some(project) => count.query(params![space.embedder, dims(space), project.as_str()])?,
    };
    match rows.next()? {
        Some(found) => row::count(found, 0),
        None => Ok(0),
    }
}

fn delete_unused(
    db: &Connection,
    unused: &UnusedVectors,
    after: MemoryKey,
    limit: usize,
) -> Result<Option<MemoryKey>, Fault> {
    let embedder: Option<i64> = db
        .prepare_cached("SELECT key FROM embedder WHERE id = ?1 AND dims = ?2 AND seen_at <= ?3")?
        .query_row(
            params![
                unused.space.embedder,
                dims(&unused.space),
                unused.unseen_since.as_millisecond()
            ],
            |row| row.get(0),
        )
        .optional()?;
    let (Some(embedder), Some(kept)) = (embedder, embedders::key(db, &unused.kept)?) else {
        return Ok(None);
    };
    let mut select = db.prepare_cached(
        "SELECT e.memory FROM embedding e WHERE e.memory > ?3 AND e.embedder = ?1 \
             AND EXISTS (SELECT 1 FROM embedding k WHERE k.memory = e.memory AND k.embedder = ?2) \
         ORDER BY e.memory LIMIT ?4",
    )?;
    let memories = select.query_map(params![embedder, kept, after, row::limit(limit)], |row| {
        row.get(0)
    })?;
    let memories: Vec<MemoryKey> = memories.collect::<rusqlite::Result<_>>()?;
    let mut delete =
        db.prepare_cached("DELETE FROM embedding WHERE memory = ?1 AND embedder = ?2")?;
    for memory in &memories {
        delete.execute([*memory, embedder])?;
    }
    if !memories.is_empty() {
        snapshots::forget_space(db, &unused.space)?;
    }
    if memories.len() == limit {
        return Ok(memories.last().copied());
    }
    embedders::remove_empty(db, embedder, &unused.space)?;
    Ok(None)
}
