//! The vectors of memories.

use async_trait::async_trait;
use jiff::Timestamp;
use reflect_types::{MemoryId, ProjectId};

use super::clock::{corrected, corrected_lease};
use super::embedders::dims;
use super::fault::Fault;
use super::revisions::next_revisions;
use super::sql::Db;
use super::transaction::{look, read, write};
use super::value::params;
use super::{Postgres, embedders, reembeddings, row};
use crate::error::Result;
use crate::store::{
    Claims, KnownEmbedder, Lease, MemoryKey, UnembeddedMemory, UnusedVectors, VectorSpace, Vectors,
};

#[async_trait]
impl Vectors for Postgres {
    async fn vectors(
        &self,
        project: &ProjectId,
        space: &VectorSpace,
        keys: &[MemoryKey],
    ) -> Result<Vec<(MemoryKey, Vec<f32>)>> {
        look!(self, |db| get(db, project, space, keys))
    }

    async fn embedders(&self) -> Result<Vec<KnownEmbedder>> {
        read!(self, |db| embedders::list(db))
    }

    async fn announce_embedder(
        &self,
        space: &VectorSpace,
        complete: bool,
        now: Timestamp,
    ) -> Result<()> {
        write!(self, |db| embedders::announce(db, space, complete, now))
    }

    async fn unembedded(
        &self,
        space: &VectorSpace,
        after: MemoryKey,
        limit: usize,
    ) -> Result<Vec<UnembeddedMemory>> {
        read!(self, |db| unembedded(db, space, after, limit))
    }

    async fn count_unembedded(
        &self,
        space: &VectorSpace,
        project: Option<&ProjectId>,
    ) -> Result<u64> {
        read!(self, |db| count_unembedded(db, space, project))
    }

    async fn set_vectors(
        &self,
        space: &VectorSpace,
        vectors: Vec<(UnembeddedMemory, Vec<f32>)>,
        now: Timestamp,
    ) -> Result<()> {
        write!(self, |db| set(db, space, &vectors, now))
    }

    async fn delete_unused_vectors(
        &self,
        unused: &UnusedVectors,
        after: MemoryKey,
        limit: usize,
    ) -> Result<Option<MemoryKey>> {
        write!(self, |db| delete_unused(db, unused, after, limit))
    }

    async fn queue_reembedding(&self, embedder: &str, now: Timestamp, restart: bool) -> Result<()> {
        if !restart && read!(self, |db| reembeddings::due(db, embedder))?.is_some() {
            return Ok(());
        }
        write!(self, |db| reembeddings::queue(db, embedder, now, restart))
    }

    async fn claim_reembedding(
        &self,
        embedder: &str,
        now: Timestamp,
        lease: &Lease,
    ) -> Result<Claims> {
        let error = self.measure_clock().await?;
        let (now, lease) = (corrected(now, error), &corrected_lease(lease, error));
        // A look first: an idle engine must not write.
        let next_due = read!(self, |db| reembeddings::due(db, embedder))?;
        if next_due.is_none_or(|due| due > now) {
            return Ok(Claims {
                jobs: Vec::new(),
                next_due,
            });
        }
        write!(self, |db| reembeddings::claim(db, embedder, now, lease))
    }
}

async fn get(
    db: &Db<'_>,
    project: &ProjectId,
    space: &VectorSpace,
    keys: &[MemoryKey],
) -> Result<Vec<(MemoryKey, Vec<f32>)>, Fault> {
    // Not of the memory, which need not be read: a key is never used again. A key of a project that is
    // gone is gone too.
    let rows = db
        .query(
            "SELECT e.memory, e.vector FROM embedding e WHERE e.memory = ANY($1) AND e.embedder = \
                 (SELECT key FROM embedder WHERE id = $2 AND ($3::bigint = 0 OR dims = $3) \
                     ORDER BY seen_at DESC, key DESC LIMIT 1) \
                 AND EXISTS (SELECT 1 FROM project p WHERE p.id = $4)",
            params![keys, space.embedder, dims(space), project.as_str()],
        )
        .await?;
    rows.iter()
        .map(|row| Ok((row.get(0)?, row.get(1)?)))
        .collect()
}

/// Adds a vector, or replaces the one of the same space.
pub(super) async fn put(
    db: &Db<'_>,
    memory: MemoryKey,
    embedder: &str,
    vector: &[f32],
    now: Timestamp,
) -> Result<(), Fault> {
    let space = VectorSpace::new(embedder, vector.len());
    let known = "INSERT INTO embedding (memory, embedder, vector) \
         SELECT $1, key, $4 FROM embedder WHERE id = $2 AND dims = $3 \
         ON CONFLICT (memory, embedder) DO UPDATE SET vector = excluded.vector";
    let stored = db
        .execute(
            known,
            params![memory, space.embedder, dims(&space), *vector],
        )
        .await?;
    if stored > 0 {
        return Ok(());
    }
    let embedder = embedders::key_or_new(db, &space, now).await?;
    let new = "INSERT INTO embedding (memory, embedder, vector) VALUES ($1, $2, $3) \
         ON CONFLICT (memory, embedder) DO UPDATE SET vector = excluded.vector";
    db.execute(new, params![memory, embedder, *vector]).await?;
    Ok(())
}

/// Adds a vector to a memory; `false` if there is no such memory, or none of its embedder yet.
pub(super) async fn put_of(
    db: &Db<'_>,
    project: i64,
    memory: &MemoryId,
    embedder: &str,
    vector: &[f32],
) -> Result<bool, Fault> {
    let space = VectorSpace::new(embedder, vector.len());
    let stored = db
        .execute(
            "INSERT INTO embedding (memory, embedder, vector) SELECT m.key, e.key, $5 \
             FROM memory m, embedder e \
             WHERE m.project = $1 AND m.id = $2 AND e.id = $3 AND e.dims = $4",
            params![
                project,
                memory.as_str(),
                space.embedder,
                dims(&space),
                *vector
            ],
        )
        .await?;
    Ok(stored > 0)
}

/// Deletes all vectors of a memory, if this is not its task.
pub(super) async fn forget_other_task(
    db: &Db<'_>,
    memory: MemoryKey,
    task: &str,
) -> Result<(), Fault> {
    for vectors in ["embedding", "direction"] {
        db.execute(
            &format!(
                "DELETE FROM {vectors} WHERE memory = $1 \
                     AND (SELECT task FROM memory WHERE key = $1) <> $2"
            ),
            params![memory, task],
        )
        .await?;
    }
    Ok(())
}

async fn set(
    db: &Db<'_>,
    space: &VectorSpace,
    vectors: &[(UnembeddedMemory, Vec<f32>)],
    now: Timestamp,
) -> Result<(), Fault> {
    let keys: Vec<MemoryKey> = vectors.iter().map(|(memory, _)| memory.key).collect();
    // In the order of their projects, so that two of these do not wait for each other.
    db.execute(
        "SELECT FROM project WHERE key IN (SELECT project FROM memory WHERE key = \
             ANY($1)) ORDER BY key FOR NO KEY UPDATE",
        params![keys.as_slice()],
    )
    .await?;
    let rows = db
        .query(
            "SELECT key, project, task FROM memory WHERE key = ANY($1) ORDER BY project, key",
            params![keys.as_slice()],
        )
        .await?;
    let (mut written, mut revisions, mut next) = (Vec::new(), Vec::new(), None);
    for row in &rows {
        let (key, project): (MemoryKey, i64) = (row.get(0)?, row.get(1)?);
        let task: String = row.get(2)?;
        let vector = vectors
            .iter()
            .find(|(memory, _)| memory.key == key && memory.task == task);
        let Some((_, vector)) = vector else { continue };
        put(db, key, &space.embedder, vector, now).await?;
        let revision = match next {
            Some((of, revision)) if of == project => revision,
            // As many as may follow. Revisions need not be without gaps.
            _ => next_revisions(db, project, row::limit(rows.len())).await?,
        };
        next = Some((project, revision + 1));
        written.push(key);
        revisions.push(revision);
    }
    db.execute(
        "UPDATE memory m SET revision = v.revision \
         FROM unnest($1::bigint[], $2::bigint[]) AS v (key, revision) WHERE m.key = v.key",
        params![written.as_slice(), revisions.as_slice()],
    )
    .await?;
    Ok(())
}

/// Whether the memory of a vector `e` has none of the space of the first two parameters.
const LACKS: &str = "NOT EXISTS (SELECT FROM embedding o WHERE o.memory = e.memory \
     AND o.embedder IN (SELECT key FROM embedder WHERE id = $1 AND ($2::bigint = 0 OR dims = $2)))";

async fn unembedded(
    db: &Db<'_>,
    space: &VectorSpace,
    after: MemoryKey,
    limit: usize,
) -> Result<Vec<UnembeddedMemory>, Fault> {
    // By the vectors of others, whose index has no texts.
    let select = format!(
        "SELECT m.key, m.task FROM memory m JOIN (SELECT DISTINCT e.memory FROM embedding e \
             WHERE e.memory > $3 AND {LACKS} ORDER BY e.memory LIMIT $4 \
         ) lacking ON lacking.memory = m.key ORDER BY m.key"
    );
    let found = db
        .query(
            &select,
            params![space.embedder, dims(space), after, row::limit(limit)],
        )
        .await?;
    let found = found.iter().map(|row| {
        let (key, task) = (row.get(0)?, row.get(1)?);
        Ok(UnembeddedMemory { key, task })
    });
    found.collect()
}

async fn count_unembedded(
    db: &Db<'_>,
    space: &VectorSpace,
    project: Option<&ProjectId>,
) -> Result<u64, Fault> {
    let found = match project {
        None => {
            let count = format!("SELECT count(DISTINCT e.memory) FROM embedding e WHERE {LACKS}");
            db.one(&count, params![space.embedder, dims(space)]).await?
        }
        Some(project) => {
            let count = format!(
                "SELECT count(DISTINCT e.memory) FROM memory m \
                     JOIN embedding e ON e.memory = m.key \
                 WHERE m.project = (SELECT key FROM project WHERE id = $3) \
                     AND m.status = 'active' AND m.aside IS NULL AND {LACKS}"
            );
            db.one(
                &count,
                params![space.embedder, dims(space), project.as_str()],
            )
            .await?
        }
    };
    row::count(&found, 0)
}

async fn delete_unused(
    db: &Db<'_>,
    unused: &UnusedVectors,
    after: MemoryKey,
    limit: usize,
) -> Result<Option<MemoryKey>, Fault> {
    // Locked until the end: a server that comes back with it waits, and embeds what is gone.
    let embedder: Option<i64> = db
        .value(
            "SELECT key FROM embedder WHERE id = $1 AND dims = $2 AND seen_at <= $3 FOR UPDATE",
            params![
                unused.space.embedder,
                dims(&unused.space),
                unused.unseen_since.as_millisecond()
            ],
        )
        .await?;
    let (Some(embedder), Some(kept)) = (embedder, embedders::key(db, &unused.kept).await?) else {
        return Ok(None);
    };
    let memories: Vec<MemoryKey> = db
        .column(
            "SELECT e.memory FROM embedding e WHERE e.memory > $3 AND e.embedder = $1 \
                 AND EXISTS (SELECT FROM embedding k \
                     WHERE k.memory = e.memory AND k.embedder = $2) \
             ORDER BY e.memory LIMIT $4",
            params![embedder, kept, after, row::limit(limit)],
        )
        .await?;
    for vectors in ["embedding", "direction"] {
        db.execute(
            &format!("DELETE FROM {vectors} WHERE memory = ANY($1) AND embedder = $2"),
            params![memories.as_slice(), embedder],
        )
        .await?;
    }
    if memories.len() == limit {
        return Ok(memories.last().copied());
    }
    embedders::remove_empty(db, embedder, &unused.space).await?;
    Ok(None)
}
