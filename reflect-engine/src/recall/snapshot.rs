//! Keeps a large index in the store, so that the next process does not compute it again.
//!
//! A snapshot that cannot be used is logged and ignored: the index is rebuilt from the memories, and the query
//! succeeds.

use std::io;
use std::sync::Arc;

use reflect_types::ProjectId;
use tokio::sync::{mpsc, oneshot};

use crate::core::Core;
use crate::error::{Error, Result};
use crate::index::{Due, ProjectIndex, Saved};
use crate::snapshot::Joiner;
use crate::store::{RecallSettings, Revision, SnapshotKey, VectorSpace};
use crate::task::{compute, finish, keep_running};

/// The number of parts that are read ahead of those that are decoded.
const READ_AHEAD: usize = 8;
/// The number of parts that are deleted at a time, so that other writes do not wait for all.
const DELETED: usize = 8;

/// Loads the newest snapshot into a new index, if there is one that fits.
pub(super) async fn load(
    core: &Core,
    project: &ProjectId,
    space: &VectorSpace,
    settings: RecallSettings,
    index: &Arc<ProjectIndex>,
) {
    if let Err(error) = try_to_load(core, project, space, settings, index).await {
        tracing::info!(%project, %error, "the index is built from the memories: its snapshot cannot be used");
    }
}

async fn try_to_load(
    core: &Core,
    project: &ProjectId,
    space: &VectorSpace,
    settings: RecallSettings,
    index: &Arc<ProjectIndex>,
) -> Result<()> {
    let Some((snapshot, parts)) = core.store.snapshot(project, space).await? else {
        return Ok(());
    };
    let (sender, receiver) = mpsc::channel(READ_AHEAD);
    let (done, loaded) = oneshot::channel();
    let (index, space) = (Arc::clone(index), space.clone());
    // A thread of its own, because it waits for others: a runtime may have only one for blocking work.
    std::thread::Builder::new()
        .name("reflect-snapshot".to_owned())
        .spawn(move || {
            let loaded = index.load(&space, settings, Joiner::new(receiver));
            // The caller may have gone.
            let _ = done.send(loaded);
        })
        .map_err(|error| Error::internal("no thread could be started", error))?;
    for number in 0..parts {
        // One that is missing ends the snapshot early, which is noticed.
        let Some(part) = core.store.snapshot_part(snapshot, number).await? else {
            break;
        };
        // Loading has failed: the receiver is dropped.
        if sender.send(part).await.is_err() {
            break;
        }
    }
    drop(sender);
    let panicked = |_| io::Error::other("the thread panicked");
    let loaded = loaded.await.map_err(panicked).flatten();
    loaded.map_err(|error| Error::internal("the snapshot does not fit", error))
}

/// Saves the index in the background if it is due, which a shutdown waits for.
pub(super) fn save_if_due(
    core: &Arc<Core>,
    project: &ProjectId,
    space: &VectorSpace,
    index: &Arc<ProjectIndex>,
) {
    if !core.store.keeps_snapshots() {
        return;
    }
    let Some(due) = index.begin_saving() else {
        return;
    };
    let (work, saved) = (Arc::clone(core), Arc::clone(index));
    let (space, project, index) = (space.clone(), project.clone(), Arc::clone(index));
    keep_running(core, async move {
        let name = project.clone();
        let saving = async move { save(&work, &project, &space, &saved, due).await };
        let saved = finish(saving).await;
        index.end_saving(*saved.as_ref().unwrap_or(&Saved::Failed));
        if let Err(error) = saved {
            tracing::warn!(project = %name, %error, "the index could not be saved");
        }
    });
}

/// Deletes what is left of deleted snapshots, in the background.
pub(crate) fn clean_up(core: &Arc<Core>) {
    if !core.store.keeps_snapshots() {
        return;
    }
    let work = Arc::clone(core);
    keep_running(core, async move {
        if let Err(error) = delete_unused(&work).await {
            tracing::warn!(%error, "parts of deleted snapshots could not be deleted");
        }
    });
}

async fn save(
    core: &Core,
    project: &ProjectId,
    space: &VectorSpace,
    index: &Arc<ProjectIndex>,
    due: Due,
) -> Result<Saved> {
    // What is gone need not be deleted: its review may have been withdrawn.
    if due == Due::Gone && core.store.snapshot(project, space).await?.is_some() {
        return Ok(Saved::Unneeded);
    }
    let encoding = {
        let (index, space) = (Arc::clone(index), space.clone());
        compute(move || index.save(&space))
    };
    let encoded = encoding.await?;
    let encoded =
        encoded.map_err(|error| Error::internal("the index could not be encoded", error))?;
    let Some((revision, parts)) = encoded else {
        return Ok(Saved::Failed);
    };
    let Some(snapshot) = core.store.begin_snapshot(project, space).await? else {
        return Ok(Saved::Failed);
    };
    let written = write(core, snapshot, revision, parts).await;
    if matches!(written, Ok(true)) {
        return Ok(Saved::Written);
    }
    let deleted = core.store.delete_snapshot(snapshot).await;
    let cleaned = delete_unused(core).await;
    written.and(deleted).and(cleaned)?;
    Ok(Saved::Failed)
}

/// Whether the snapshot is written: not if it was deleted meanwhile.
async fn write(
    core: &Core,
    snapshot: SnapshotKey,
    revision: Revision,
    parts: Vec<Vec<u8>>,
) -> Result<bool> {
    // The one before leaves its room in the file to this one.
    delete_unused(core).await?;
    let mut count = 0;
    for part in parts {
        if !core.store.add_snapshot_part(snapshot, count, part).await? {
            return Ok(false);
        }
        count += 1;
    }
    let finished = core.store.finish_snapshot(snapshot, count, revision.number);
    finished.await
}

/// Deletes what is left of deleted snapshots.
pub(crate) async fn delete_unused(core: &Core) -> Result<()> {
    while core.store.delete_unused_parts(DELETED).await? {}
    Ok(())
}
