//! Snapshots of indexes.

use async_trait::async_trait;
use reflect_types::ProjectId;
use rusqlite::{Connection, OptionalExtension, params};

use super::embedders::dims;
use super::fault::Fault;
use super::{Sqlite, projects, row};
use crate::error::Result;
use crate::store::{SnapshotKey, Snapshots, VectorSpace};

#[async_trait]
impl Snapshots for Sqlite {
    /// A database in memory is gone before anyone asks for it.
    fn keeps_snapshots(&self) -> bool {
        self.readers.is_some()
    }

    async fn begin_snapshot(
        &self,
        project: &ProjectId,
        space: &VectorSpace,
    ) -> Result<Option<SnapshotKey>> {
        let (project, space) = (project.clone(), space.clone());
        self.write(move |db| begin(db, &project, &space)).await
    }

    async fn add_snapshot_part(
        &self,
        snapshot: SnapshotKey,
        number: u32,
        part: Vec<u8>,
    ) -> Result<bool> {
        self.write(move |db| add_part(db, snapshot, number, &part))
            .await
    }

    async fn finish_snapshot(
        &self,
        snapshot: SnapshotKey,
        parts: u32,
        revision: i64,
    ) -> Result<bool> {
        self.write(move |db| finish(db, snapshot, parts, revision))
            .await
    }

    async fn delete_snapshot(&self, snapshot: SnapshotKey) -> Result<()> {
        self.write(move |db| delete(db, snapshot)).await
    }

    async fn delete_unused_parts(&self, limit: usize) -> Result<bool> {
        // A look first: mostly there are none, and that takes no write.
        let unused = self.read(move |db| unused_parts(db, limit)).await?;
        if unused.is_empty() {
            return Ok(false);
        }
        let has_more = unused.len() == limit;
        self.write(move |db| delete_parts(db, &unused)).await?;
        Ok(has_more)
    }

    async fn snapshot(
        &self,
        project: &ProjectId,
        space: &VectorSpace,
    ) -> Result<Option<(SnapshotKey, u32)>> {
        let (project, space) = (project.clone(), space.clone());
        self.read(move |db| finished(db, &project, &space)).await
    }

    async fn snapshot_part(&self, snapshot: SnapshotKey, number: u32) -> Result<Option<Vec<u8>>> {
        self.read(move |db| part(db, snapshot, number)).await
    }
}

fn begin(
    db: &Connection,
    project: &ProjectId,
    space: &VectorSpace,
) -> Result<Option<SnapshotKey>, Fault> {
    let Some(project) = projects::key(db, project)? else {
        return Ok(None);
    };
    let of_space = params![project, space.embedder, dims(space)];
    db.prepare_cached("DELETE FROM snapshot WHERE project = ?1 AND embedder = ?2 AND dims = ?3")?
        .execute(of_space)?;
    db.prepare_cached("INSERT INTO snapshot (project, embedder, dims) VALUES (?1, ?2, ?3)")?
        .execute(of_space)?;
    Ok(Some(db.last_insert_rowid()))
}

fn add_part(
    db: &Connection,
    snapshot: SnapshotKey,
    number: u32,
    part: &[u8],
) -> Result<bool, Fault> {
    let added = db
        .prepare_cached(
            "INSERT INTO snapshot_part (snapshot, number, bytes) \
         SELECT key, ?2, ?3 FROM snapshot WHERE key = ?1",
        )?
        .execute(params![snapshot, number, part])?;
    Ok(added > 0)
}

fn finish(
    db: &Connection,
    snapshot: SnapshotKey,
    parts: u32,
    revision: i64,
) -> Result<bool, Fault> {
    let finished = db
        .prepare_cached(
            "UPDATE snapshot SET parts = ?2 WHERE key = ?1 \
                 AND (SELECT count(*) FROM snapshot_part p WHERE p.snapshot = ?1) = ?2 \
                 AND NOT EXISTS (SELECT 1 FROM deleted_memory d \
                     WHERE d.project = snapshot.project AND d.revision > ?3)",
        )?
        .execute(params![snapshot, parts, revision])?;
    Ok(finished > 0)
}

fn delete(db: &Connection, snapshot: SnapshotKey) -> Result<(), Fault> {
    db.prepare_cached("DELETE FROM snapshot WHERE key = ?1")?
        .execute([snapshot])?;
    Ok(())
}

/// Deletes the snapshots of a project, because a memory is deleted.
pub(super) fn forget(db: &Connection, project: i64) -> Result<(), Fault> {
    db.prepare_cached("DELETE FROM snapshot WHERE project = ?1")?
        .execute([project])?;
    Ok(())
}

/// Deletes the snapshots of a space, because vectors are deleted.
pub(super) fn forget_space(db: &Connection, space: &VectorSpace) -> Result<(), Fault> {
    db.prepare_cached("DELETE FROM snapshot WHERE embedder = ?1 AND dims = ?2")?
        .execute(params![space.embedder, dims(space)])?;
    Ok(())
}

fn unused_parts(db: &Connection, limit: usize) -> Result<Vec<i64>, Fault> {
    let mut select = db.prepare_cached(
        "SELECT p.key FROM snapshot_part p \
         WHERE NOT EXISTS (SELECT 1 FROM snapshot s WHERE s.key = p.snapshot) LIMIT ?1",
    )?;
    let keys = select.query_map([row::limit(limit)], |row| row.get(0))?;
    Ok(keys.collect::<rusqlite::Result<_>>()?)
}

fn delete_parts(db: &Connection, keys: &[i64]) -> Result<(), Fault> {
    let mut delete = db.prepare_cached("DELETE FROM snapshot_part WHERE key = ?1")?;
    for key in keys {
        delete.execute([key])?;
    }
    Ok(())
}

fn finished(
    db: &Connection,
    project: &ProjectId,
    space: &VectorSpace,
) -> Result<Option<(SnapshotKey, u32)>, Fault> {
    let mut select = db.prepare_cached(
        "SELECT s.key, s.parts FROM snapshot s JOIN project p ON p.key = s.project \
         WHERE p.id = ?1 AND s.embedder = ?2 AND s.dims = ?3 AND s.parts IS NOT NULL",
    )?;
    let found = select.query_row(
        params![project.as_str(), space.embedder, dims(space)],
        |row| Ok((row.get(0)?, row.get(1)?)),
    );
    Ok(found.optional()?)
}

fn part(db: &Connection, snapshot: SnapshotKey, number: u32) -> Result<Option<Vec<u8>>, Fault> {
    let found = db
        .prepare_cached("SELECT bytes FROM snapshot_part WHERE snapshot = ?1 AND number = ?2")?
        .query_row(params![snapshot, number], |row| row.get(0));
    Ok(found.optional()?)
}
