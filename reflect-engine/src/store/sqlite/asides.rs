//! Decisions of Reflect itself to keep memories out of answers.

use jiff::Timestamp;
use reflect_types::{ChangeKind, MemoryId, MemoryStatus, ProjectId};
use rusqlite::{Connection, OptionalExtension, params};

use super::fault::Fault;
use super::memory_changes::{Change, insert};
use super::{memories, projects, row, skills};
use crate::clock;
use crate::store::{AsideWrite, MemoryKey, merges};

/// Writes decisions and records each as a change of Reflect itself. Skips those that stand already, and
/// memories that are gone.
pub(super) fn write(
    db: &Connection,
    project: &ProjectId,
    writes: &[AsideWrite],
    now: Timestamp,
) -> Result<(), Fault> {
    let Some(project) = projects::key(db, project)? else {
        return Ok(());
    };
    for decision in writes {
        write_one(db, project, decision, now)?;
    }
    Ok(())
}

fn write_one(
    db: &Connection,
    project: i64,
    decision: &AsideWrite,
    now: Timestamp,
) -> Result<(), Fault> {
    let mut select = db.prepare_cached(
        "SELECT id, generation, status, aside, aside_into FROM memory \
         WHERE key = ?1 AND project = ?2 AND status <> 'withdrawn'",
    )?;
    let mut rows = select.query(params![decision.key, project])?;
    let Some(found) = rows.next()? else {
        return Ok(());
    };
    let (id, generation) = (MemoryId::new(found.get::<_, String>(0)?), found.get(1)?);
    let (by_people, before) = (row::name(found, 2)?, row::optional_name(found, 3)?);
    let merged_into: Option<MemoryKey> = found.get(4)?;
    if before == decision.status && merged_into == decision.merged_into {
        return Ok(());
    }
    let at = clock::text(now);
    let status = decision.status.as_ref().map(MemoryStatus::as_str);
    db.prepare_cached(
        "UPDATE memory SET aside = ?2, aside_reason = iif(?2 IS NULL, NULL, ?3), \
             aside_at = iif(?2 IS NULL, NULL, ?4), revision = ?5, aside_into = ?6 WHERE key = ?1",
    )?
    .execute(params![
        decision.key,
        status,
        decision.reason,
        at,
        projects::next_revision(db, project)?,
        decision.merged_into,
    ])?;
    if decision.status.is_some() {
        skills::remove_of(db, project, &id)?;
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
}

/// A person has decided otherwise. The caller writes the revision.
pub(super) fn clear(db: &Connection, key: MemoryKey) -> Result<(), Fault> {
    db.prepare_cached(
        "UPDATE memory SET aside = NULL, aside_reason = NULL, aside_at = NULL, aside_into = NULL \
         WHERE key = ?1",
    )?
    .execute([key])?;
    Ok(())
}

/// Refuses a merge into a memory that is not there, or that a person has merged into this one.
pub(super) fn check_merge(
    db: &Connection,
    project: i64,
    id: &MemoryId,
    into: &MemoryId,
) -> Result<(), Fault> {
    if memories::status(db, project, into)?.is_none_or(|status| status == "withdrawn") {
        return Err(merges::no_such_memory().into());
    }
    let mut next = db.prepare_cached(
        "SELECT c.merged_into FROM memory_change c WHERE c.project = ?1 AND c.memory_id = ?2 \
             AND c.closed = 0 AND c.automatic = 0 AND c.kind <> 'edited' ORDER BY c.key DESC LIMIT 1",
    )?;
    let mut at = into.to_string();
    for _ in 0..merges::LONGEST_CHAIN {
        let merged_into = next.query_row(params![project, at], |row| row.get(0));
        let Some(merged_into) = merged_into.optional()?.flatten() else {
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
pub(super) fn merge(
    db: &Connection,
    project: i64,
    key: MemoryKey,
    into: &MemoryId,
    now: Timestamp,
) -> Result<(), Fault> {
    // That one may have been merged into this one, as a near-duplicate.
    let target = db
        .prepare_cached(
            "SELECT key FROM memory WHERE project = ?1 AND id = ?2 AND aside_into = ?3",
        )?
        .query_row(params![project, into.as_str(), key], |row| row.get(0))
        .optional()?;
    if let Some(target) = target {
        write_one(db, project, &merges::reversed(target), now)?;
    }
    db.prepare_cached(
        "UPDATE memory SET aside = 'merged', aside_reason = ?4, aside_at = ?5, aside_into = \
             (SELECT coalesce(x.aside_into, x.key) FROM memory x WHERE x.project = ?2 AND x.id = ?3) \
         WHERE key = ?1",
    )?
    .execute(params![
        key,
        project,
        into.as_str(),
        merges::BY_HAND,
        clock::text(now)
    ])?;
    Ok(())
}

/// A memory is there now: indexes look again at those that a person has merged into it.
pub(super) fn touch_merged(db: &Connection, project: i64, into: &MemoryId) -> Result<(), Fault> {
    let mut merged = db.prepare_cached(
        "SELECT m.key FROM memory m JOIN memory_change c ON c.project = m.project \
             AND c.memory_id = m.id WHERE c.project = ?1 AND c.merged_into = ?2",
    )?;
    let keys = merged.query_map(params![project, into.as_str()], |row| row.get(0))?;
    let keys: Vec<MemoryKey> = keys.collect::<rusqlite::Result<_>>()?;
    for key in keys {
        db.prepare_cached("UPDATE memory SET revision = ?2 WHERE key = ?1")?
            .execute(params![key, projects::next_revision(db, project)?])?;
    }
    Ok(())
}
