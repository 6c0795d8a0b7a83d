//! Decisions of Reflect itself to keep memories out of answers.

use jiff::Timestamp;
use reflect_types::{ChangeKind, MemoryId, MemoryStatus, ProjectId};

use super::db::Db;
use super::fault::Fault;
use super::memory_changes::{self, Change};
use super::value::params;
use super::{memory_rows, projects, skills};
use crate::clock;
use crate::store::{Hiding, MemoryKey, merges};

/// Writes decisions and records each as a change of Reflect itself. Skips those that stand already, and memories that
/// are gone.
pub(super) async fn write(
    db: &Db<'_>,
    project: &ProjectId,
    decisions: &[Hiding],
    now: Timestamp,
) -> Result<(), Fault> {
    let Some(project) = projects::lock(db, project).await? else {
        return Ok(());
    };
    for decision in decisions {
        write_one(db, project, decision, now).await?;
    }
    Ok(())
}

async fn write_one(
    db: &Db<'_>,
    project: i64,
    decision: &Hiding,
    now: Timestamp,
) -> Result<(), Fault> {
    let select = "SELECT id, generation, status, hidden, hidden_into FROM memory \
         WHERE project = $1 AND key = $2 AND status <> 'withdrawn'";
    let Some(found) = db.first(select, &params![project, decision.key]).await? else {
        return Ok(());
    };
    let id: MemoryId = found.get("id")?;
    let before: Option<MemoryStatus> = found.get("hidden")?;
    let merged_into: Option<MemoryKey> = found.get("hidden_into")?;
    if before == decision.status && merged_into == decision.merged_into {
        return Ok(());
    }
    let at = clock::text(now);
    let status = decision.status.as_ref();
    let revision = projects::next_revision(db, project).await?;
    db.execute(
        "UPDATE memory SET hidden = $3, hidden_reason = $4, hidden_at = $5, revision = $6, \
             hidden_into = $7 WHERE project = $1 AND key = $2",
        &params![
            project,
            decision.key,
            status,
            status.map(|_| &decision.reason),
            status.map(|_| &at),
            revision,
            decision.merged_into,
        ],
    )
    .await?;
    if status.is_some() {
        skills::remove_of(db, project, &[&id]).await?;
    }
    // It is how a memory begins, and no change of it.
    if status == Some(&MemoryStatus::Staged) {
        return Ok(());
    }
    let status_before = match found.get("status")? {
        MemoryStatus::Active => before.unwrap_or_default(),
        by_people => by_people,
    };
    let change = Change {
        memory: &id,
        kind: match status {
            Some(MemoryStatus::Archived) => &ChangeKind::Archived,
            Some(MemoryStatus::Merged) => &ChangeKind::Merged,
            Some(_) => &ChangeKind::Quarantined,
            None => &ChangeKind::Restored,
        },
        generation: found.get("generation")?,
        status_before: &status_before,
        before: None,
        edit: None,
        note: Some(&decision.reason),
        key: None,
        at: &at,
        closed: false,
        automatic: true,
        merged_into: None,
    };
    memory_changes::insert(db, project, &change).await
}

/// A person has decided otherwise. The caller writes the revision.
pub(super) async fn clear(db: &Db<'_>, project: i64, key: MemoryKey) -> Result<(), Fault> {
    let clear = "UPDATE memory SET hidden = NULL, hidden_reason = NULL, hidden_at = NULL, \
         hidden_into = NULL WHERE project = $1 AND key = $2";
    db.execute(clear, &params![project, key]).await.map(drop)
}

/// Refuses a merge into a memory that is not there, or that a person has merged into this one.
pub(super) async fn check_merge(
    db: &Db<'_>,
    project: i64,
    id: &MemoryId,
    into: &MemoryId,
) -> Result<(), Fault> {
    let status = memory_rows::status(db, project, into).await?;
    if status.is_none_or(|status| status == "withdrawn") {
        return Err(merges::no_such_memory().into());
    }
    let select = "SELECT c.merged_into FROM memory_change c WHERE c.project = $1 AND c.memory_id = $2 \
             AND NOT c.closed AND NOT c.automatic AND c.kind <> 'edited' ORDER BY c.key DESC LIMIT 1";
    let mut at = into.clone();
    for _ in 0..merges::LONGEST_CHAIN {
        let next: Option<Option<MemoryId>> = db.value(select, &params![project, at]).await?;
        let Some(merged_into) = next.flatten() else {
            return Ok(());
        };
        at = merged_into;
        if at == *id {
            break;
        }
    }
    Err(merges::circle(into).into())
}

/// Merges a memory by hand. The caller writes the revision.
pub(super) async fn merge(
    db: &Db<'_>,
    project: i64,
    key: MemoryKey,
    into: &MemoryId,
    now: Timestamp,
) -> Result<(), Fault> {
    // That one may have been merged into this one, as a near-duplicate.
    let select = "SELECT key FROM memory WHERE project = $1 AND id = $2 AND hidden_into = $3";
    if let Some(target) = db.value(select, &params![project, into, key]).await? {
        write_one(db, project, &merges::reversed(target), now).await?;
    }
    let merge = "UPDATE memory SET hidden = 'merged', hidden_reason = $4, hidden_at = $5, hidden_into = \
             (SELECT coalesce(x.hidden_into, x.key) FROM memory x WHERE x.project = $1 AND x.id = $3) \
         WHERE project = $1 AND key = $2";
    let values = params![project, key, into, merges::BY_HAND, now];
    db.execute(merge, &values).await.map(drop)
}

/// A memory is there now: indexes look again at those that a person has merged into it.
pub(super) async fn touch_merged(db: &Db<'_>, project: i64, into: &MemoryId) -> Result<(), Fault> {
    let select = "SELECT DISTINCT m.key FROM memory_change c \
             JOIN memory m ON m.project = c.project AND m.id = c.memory_id \
         WHERE c.project = $1 AND c.merged_into = $2";
    for key in db
        .column::<MemoryKey>(select, &params![project, into])
        .await?
    {
        let revision = projects::next_revision(db, project).await?;
        let touch = "UPDATE memory SET revision = $3 WHERE project = $1 AND key = $2";
        db.execute(touch, &params![project, key, revision]).await?;
    }
    Ok(())
}
