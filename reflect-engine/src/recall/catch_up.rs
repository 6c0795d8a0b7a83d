//! Brings a project's index up to date with the store.

use std::sync::Arc;

use reflect_types::{MemoryStatus, ProjectId};

use crate::core::Core;
use crate::error::Result;
use crate::index::{ProjectIndex, Turn};
use crate::store::{Hiding, MemoryChanges, Revision, VectorSpace};
use crate::task::{compute, finish};

/// The number of changes read from the store at a time. Tests read many pages.
pub(crate) const PAGE: usize = if cfg!(test) { 8 } else { 4_096 };

/// The project's index with everything that was committed before the call; `None` if there is no
/// such project.
pub(super) async fn current_index(
    core: &Arc<Core>,
    project: &ProjectId,
) -> Result<Option<Arc<ProjectIndex>>> {
    core.role().await?;
    // Held from here on: another query may drop it to make room, and changes are asked for by its
    // revision.
    let space = core.space();
    let dims = space.dims;
    let loaded = core.indexes.get(project, dims);
    let since = loaded.as_ref().map(|index| index.revision());
    // Mostly there is nothing new, and this is all it takes.
    let news = changes(core, project, &space, since.unwrap_or_default(), 1).await?;
    if news.revision.epoch == 0 {
        core.indexes.remove(project);
        return Ok(None);
    }
    let is_current = |index: &ProjectIndex| {
        let is_applied = !news.reset && news.changes.is_empty();
        is_applied && index.has_settings(&news.settings) && !index.is_due()
    };
    let index = match loaded {
        Some(index) if is_current(&index) => return Ok(Some(index)),
        Some(index) => index,
        None => core.indexes.get_or_create(project, dims),
    };
    // In its own task: what was begun helps the next query, even if the caller of this one goes away.
    let work = tidied(
        Arc::clone(core),
        project.clone(),
        space.clone(),
        Arc::clone(&index),
    );
    finish(work).await?;
    core.indexes.make_room(project);
    Ok(Some(index))
}

/// Applies all changes that the index lacks, and stores the decisions that follow from them.
async fn tidied(
    core: Arc<Core>,
    project: ProjectId,
    space: VectorSpace,
    index: Arc<ProjectIndex>,
) -> Result<()> {
    let turn = index.turn().await;
    let turn = catch_up(&core, &project, &space, turn).await?;
    let decisions = turn.decisions();
    if decisions.is_empty() {
        return Ok(());
    }
    log(&project, &decisions);
    // In parts, so that other writes do not wait for all.
    for part in decisions.chunks(PAGE) {
        let stored = core
            .store
            .hide_memories(&project, part.to_vec(), core.now());
        if let Err(error) = stored.await {
            // An answer is worth more than a decision, which is made again after the next review.
            tracing::warn!(%project, %error, "decisions about memories could not be stored");
            return Ok(());
        }
    }
    catch_up(&core, &project, &space, turn).await?;
    Ok(())
}

fn log(project: &ProjectId, decisions: &[Hiding]) {
    let status = |decision: &Hiding| decision.status.clone().unwrap_or_default();
    let count = |of: MemoryStatus| decisions.iter().filter(|d| status(d) == of).count();
    tracing::info!(
        %project,
        quarantined = count(MemoryStatus::Quarantined),
        archived = count(MemoryStatus::Archived),
        merged = count(MemoryStatus::Merged),
        staged = count(MemoryStatus::Staged),
        restored = count(MemoryStatus::Active),
        "memories get another status"
    );
    for decision in decisions {
        let Hiding { key, reason, .. } = decision;
        tracing::debug!(%project, key, status = %status(decision), reason, "a memory gets another status");
    }
}

/// The next changes, for an engine that decides about memories or follows another one.
async fn changes(
    core: &Core,
    project: &ProjectId,
    space: &VectorSpace,
    since: Revision,
    limit: usize,
) -> Result<MemoryChanges> {
    let read = core.store.memory_changes(project, space, since, limit);
    let mut page = read.await?;
    page.settings.role = core.embedding().role.unwrap_or_default();
    Ok(page)
}

/// Applies all changes that the index lacks.
async fn catch_up(
    core: &Core,
    project: &ProjectId,
    space: &VectorSpace,
    mut turn: Turn,
) -> Result<Turn> {
    let after = |revision| changes(core, project, space, revision, PAGE);
    let mut page = after(turn.revision()).await?;
    if !turn.has_settings(&page.settings) {
        turn.start_over(page.settings);
        page = after(turn.revision()).await?;
    } else if turn.is_up_to_date(&page) {
        return Ok(turn);
    }
    loop {
        let (more, revision) = (page.more, page.revision);
        let applying = apply(turn, page);
        if !more {
            return applying.await;
        }
        // The next page is read while this one is applied.
        let (applied, next) = tokio::join!(applying, after(revision));
        (turn, page) = (applied?, next?);
    }
}

/// Applies a page on a thread for work that takes long.
async fn apply(mut turn: Turn, page: MemoryChanges) -> Result<Turn> {
    let applied = compute(move || {
        turn.apply(page);
        turn
    });
    applied.await
}
