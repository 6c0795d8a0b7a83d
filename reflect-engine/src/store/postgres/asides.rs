//! Decisions of Reflect itself to keep memories out of answers.

use jiff::Timestamp;
use reflect_types::{ChangeKind, MemoryId, MemoryStatus, ProjectId};

use super::fault::Fault;
use super::memory_changes::{Change, insert};
use super::sql::Db;
use super::value::params;
use super::{memories, projects, revisions, row, skills};
use crate::clock;
use crate::store::{AsideWrite, MemoryKey, merges};

/// Writes decisions and records each as a change of Reflect itself. Skips those that stand already, and
/// memories that are gone.
pub(super) async fn write(
    db: &Db<'_>,
    project: &ProjectId,
    writes: &[AsideWrite],
    now: Timestamp,
) -> Result<(), Fault> {
    let Some(project) = projects::lock(db, project).await? else {
        return Ok(());
    };
    for decision in writes {
        write_one(db, project, decision, now).await?;
    }
    Ok(())
}

async fn write_one(
    db: &Db<'_>,
    project: i64,
    decision: &AsideWrite,
    now: Timestamp,
) -> Result<(), Fault> {
    let found = db
        .first(
            "SELECT id, generation, status, aside, aside_into FROM memory \
             WHERE key = $1 AND project = $2 AND status <> 'withdrawn'",
            params![decision.key, project],
        )
        .await?;
    let Some(found) = found else {
        return Ok(());
    };
    let (id, generation) = (MemoryId::new(found.get::<String>(0)?), found.get(1)?);
    let (by_people, before) = (row::name(&found, 2)?, row::optional_name(&found, 3)?);
    let merged_into: Option<MemoryKey> = found.get(4)?;
    if before == decision.status && merged_into == decision.merged_into {
        return Ok(());
    }
    let at = clock::text(now);
    let status = decision.status.as_ref().map(MemoryStatus::as_str);
    let revision = revisions::next_revision(db, project).await?;
    db.execute(
        "UPDATE memory SET aside = $2, aside_reason = $3, aside_at = $4, revision = $5, \
             aside_into = $6 WHERE key = $1",
        params![
            decision.key,
            status,
            status.map(|_| &decision.reason),
            status.map(|_| &at),
            revision,
            decision.merged_into,
        ],
    )
    .await?;
    if decision.status.is_some() {
        skills::remove_of(db, project, &id).await?;
    }
    // It is how a memory begins, and no change of it.
    if decision.status == Some(MemoryStatus::Staged) {
        return Ok(());
    }
    let status_before = match by_people {
        MemoryStatus::Active => before.unwrap_or_default(),
        status => status,
    };
    insert(
        db,
        project,
        &Change {
            memory: id.as_str(),
            kind: match decision.status {
                Some(MemoryStatus::Archived) => &ChangeKind::Archived,
                Some(MemoryStatus::Merged) => &ChangeKind::Merged,
                Some(_) => &ChangeKind::Quarantined,
                None => &ChangeKind::Restored,
            },
            generation,
            status_before: &status_before,
            before: None,
            edit: None,
            note: Some(&decision.reason),
            key: None,
            at: &at,
            closed: false,
            automatic: true,
            merged_into: None,
        },
    )
    .await
}

/// A person has decided otherwise. The caller writes the revision.
pub(super) async fn clear(db: &Db<'_>, key: MemoryKey) -> Result<(), Fault> {
    let clear = "UPDATE memory SET aside = NULL, aside_reason = NULL, aside_at = NULL, \
         aside_into = NULL WHERE key = $1";
    db.execute(clear, params![key]).await?;
    Ok(())
}

/// Refuses a merge into a memory that is not there, or that a person has merged into this one.
pub(super) async fn check_merge(
    db: &Db<'_>,
    project: i64,
    id: &MemoryId,
    into: &MemoryId,
) -> Result<(), Fault> {
    let status = memories::status(db, project, into).await?;
    if status.is_none_or(|status| status == "withdrawn") {
        return Err(merges::no_such_memory().into());
    }
    let mut at = into.to_string();
    for _ in 0..merges::LONGEST_CHAIN {
        let next: Option<Option<String>> = db
            .value(
                "SELECT c.merged_into FROM memory_change c WHERE c.project = $1 AND c.memory_id = $2 \
                     AND NOT c.closed AND NOT c.automatic AND c.kind <> 'edited' \
                 ORDER BY c.key DESC LIMIT 1",
                params![project, at],
            )
            .await?;
        let Some(merged_into) = next.flatten() else {
            return Ok(());
        };
        at = merged_into;
        if at == id.as_str() {
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
    let target = db
        .value(
            "SELECT key FROM memory WHERE project = $1 AND id = $2 AND aside_into = $3",
            params![project, into.as_str(), key],
        )
        .await?;
    if let Some(target) = target {
        write_one(db, project, &merges::reversed(target), now).await?;
    }
    db.execute(
        "UPDATE memory SET aside = 'merged', aside_reason = $4, aside_at = $5, aside_into = \
             (SELECT coalesce(x.aside_into, x.key) FROM memory x WHERE x.project = $2 AND x.id = $3) \
         WHERE key = $1",
        params![key, project, into.as_str(), merges::BY_HAND, clock::text(now)],
    )
    .await?;
    Ok(())
}

/// A memory is there now: indexes look again at those that a person has merged into it.
pub(super) async fn touch_merged(db: &Db<'_>, project: i64, into: &MemoryId) -> Result<(), Fault> {
    let merged = db
        .query(
            "SELECT DISTINCT m.key FROM memory m JOIN memory_change c ON c.project = m.project \
                 AND c.memory_id = m.id WHERE c.project = $1 AND c.merged_into = $2",
            params![project, into.as_str()],
        )
        .await?;
    for row in &merged {
        let key: MemoryKey = row.get(0)?;
        db.execute(
            "UPDATE memory SET revision = $2 WHERE key = $1",
            params![key, revisions::next_revision(db, project).await?],
        )
        .await?;
    }
    Ok(())
}
