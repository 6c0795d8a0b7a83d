//! Snapshots of indexes: what an engine has computed from a project's memories, as bytes.

use async_trait::async_trait;
use reflect_types::ProjectId;

use super::VectorSpace;
use crate::error::Result;

/// A snapshot's key inside its store.
pub type SnapshotKey = i64;

/// Keeps a snapshot of each project and space, in parts, so that no write is large. It is a cache: a store may lose it,
/// and by default keeps none. Deleting a memory, or vectors, deletes the snapshots that have them.
#[async_trait]
pub trait Snapshots {
    /// Whether the store keeps any.
    fn keeps_snapshots(&self) -> bool {
        false
    }

    /// Begins a snapshot in the place of the one before; `None` if there is no such project.
    async fn begin_snapshot(
        &self,
        project: &ProjectId,
        space: &VectorSpace,
    ) -> Result<Option<SnapshotKey>> {
        let _ = (project, space);
        Ok(None)
    }

    /// Adds a part of a snapshot; returns false if the snapshot is deleted.
    async fn add_snapshot_part(
        &self,
        snapshot: SnapshotKey,
        number: u32,
        part: Vec<u8>,
    ) -> Result<bool> {
        let _ = (snapshot, number, part);
        Ok(false)
    }

    /// Makes a snapshot the one to read, if it has so many parts and no memory was deleted after the `revision` of
    /// the project that it was made of; returns whether it is.
    async fn finish_snapshot(
        &self,
        snapshot: SnapshotKey,
        parts: u32,
        revision: i64,
    ) -> Result<bool> {
        let _ = (snapshot, parts, revision);
        Ok(false)
    }

    /// Deletes a snapshot.
    async fn delete_snapshot(&self, snapshot: SnapshotKey) -> Result<()> {
        let _ = snapshot;
        Ok(())
    }

    /// Deletes up to `limit` parts of snapshots that are deleted; returns whether there are more.
    async fn delete_unused_parts(&self, limit: usize) -> Result<bool> {
        let _ = limit;
        Ok(false)
    }

    /// The finished snapshot of a project, and the number of its parts.
    async fn snapshot(
        &self,
        project: &ProjectId,
        space: &VectorSpace,
    ) -> Result<Option<(SnapshotKey, u32)>> {
        let _ = (project, space);
        Ok(None)
    }

    /// A part of a snapshot; `None` once it is deleted.
    async fn snapshot_part(&self, snapshot: SnapshotKey, number: u32) -> Result<Option<Vec<u8>>> {
        let _ = (snapshot, number);
        Ok(None)
    }
}
