//! Changes of memories by the holders of keys, and by Reflect itself.

use reflect_types::{
    ChangeKind, ChangeRecord, KeyId, ListMemoryChanges, MemoryId, MemoryStatus, Page, ProjectId,
};
use rusqlite::{Connection, OptionalExtension, named_params, params};

use super::fault::Fault;
use super::row::{CHANGE, RECORDED};
use super::{projects, row};
use crate::error::Error;
use crate::review::RecordedChange;
use crate::store::MemoryKey;
use crate::store::page::PAGE_BYTES;

/// Finds the memory of a change that is not closed.
const OF_MEMORY: &str = "memory_change c JOIN memory m ON m.project = c.project AND m.id = c.memory_id \
     WHERE m.key = ?1 AND c.closed = 0 ORDER BY c.key";

pub(super) fn list(
    db: &Connection,
    project: &ProjectId,
    list: &ListMemoryChanges,
) -> Result<Page<ChangeRecord>, Fault> {
    let project = projects::key(db, project)?;
    let before: i64 = match &list.before {
        // Without a project this finds nothing: NULL equals nothing.
        Some(id) => db
            .prepare_cached(
                "SELECT key FROM memory_change WHERE project = ?2 AND CAST(key AS TEXT) = ?1 \
                     AND key = CAST(?1 AS INTEGER)",
            )?
            .query_row(params![id, project], |row| row.get(0))
            .optional()?
            .ok_or_else(|| Error::unknown_cursor("before", "change", id))?,
        None => i64::MAX,
    };
    let Some(project) = project else {
        return Ok(Page::default());
    };
    let limit = list.limit.unwrap_or(ListMemoryChanges::DEFAULT_LIMIT) as usize;
    let mut select = db.prepare_cached(&format!(
        "SELECT {CHANGE} FROM memory_change c LEFT JOIN memory m \
             ON m.project = c.project AND m.id = c.memory_id AND c.closed = 0 \
         WHERE c.project = ?1 AND c.key < ?2 ORDER BY c.key DESC LIMIT ?3"
    ))?;
    // One more than the limit shows whether another page follows.
    let mut rows = select.query(params![project, before, row::limit(limit + 1)])?;
    let (mut page, mut bytes) = (Page::default(), 0);
    while let Some(found) = rows.next()? {
        if page.items.len() == limit || bytes > PAGE_BYTES {
            page.more = true;
            break;
        }
        bytes += row::text_bytes(found, found.as_ref().column_count())?;
        page.items.push(row::change(found)?);
    }
    Ok(page)
}

/// The changes of a memory, oldest first.
pub(super) fn of_memory(db: &Connection, key: MemoryKey) -> Result<Vec<ChangeRecord>, Fault> {
    let mut select = db.prepare_cached(&format!("SELECT {CHANGE} FROM {OF_MEMORY}"))?;
    let mut rows = select.query([key])?;
    let mut changes = Vec::new();
    while let Some(found) = rows.next()? {
        changes.push(row::change(found)?);
    }
    Ok(changes)
}

/// The changes of a memory as a replay needs them, without those of Reflect itself, oldest first.
pub(super) fn recorded(db: &Connection, key: MemoryKey) -> Result<Vec<RecordedChange>, Fault> {
    let mut select = db.prepare_cached(&format!("SELECT {RECORDED} FROM {OF_MEMORY}"))?;
    let mut rows = select.query([key])?;
    let mut changes = Vec::new();
    while let Some(found) = rows.next()? {
        changes.extend(row::recorded_change(found)?);
    }
    Ok(changes)
}

/// Deletes the changes of a memory.
pub(super) fn forget(db: &Connection, project: i64, id: &MemoryId) -> Result<(), Fault> {
    db.prepare_cached(
        "DELETE FROM memory_change WHERE project = ?1 AND memory_id = ?2 AND closed = 0",
    )?
    .execute(params![project, id.as_str()])?;
    Ok(())
}

/// Stores the changes of an imported memory. Those of an older version have no generation.
pub(super) fn import(
    db: &Connection,
    project: i64,
    memory: &MemoryId,
    generation: u64,
    changes: &[ChangeRecord],
) -> Result<(), Fault> {
    for change in changes {
        let is_edit = change.kind == ChangeKind::Edited;
        let (before, edit) = match (&change.before, &change.edit) {
            (Some(before), Some(edit)) if is_edit => {
                (Some(row::to_json(before)?), Some(row::to_json(edit)?))
            }
            // Neither can be replayed.
            _ if is_edit || change.kind == ChangeKind::Deleted => continue,
            _ => (None, None),
        };
        insert(
            db,
            project,
            &Change {
                memory: memory.as_str(),
                kind: &change.kind,
                generation: match change.generation {
                    None if change.superseded => -1,
                    known => row::stored_count(known.unwrap_or(generation)),
                },
                status_before: &change.status_before,
                before,
                edit,
                note: change.note.as_deref(),
                key: change.key_id.as_ref(),
                at: &change.created_at,
                closed: false,
                automatic: change.automatic,
                merged_into: change.merged_into.as_ref(),
            },
        )?;
    }
    Ok(())
}

/// A row to insert.
pub(super) struct Change<'a> {
    pub(super) memory: &'a str,
    pub(super) kind: &'a ChangeKind,
    pub(super) generation: i64,
    pub(super) status_before: &'a MemoryStatus,
    pub(super) before: Option<String>,
    pub(super) edit: Option<String>,
    pub(super) note: Option<&'a str>,
    pub(super) key: Option<&'a KeyId>,
    pub(super) at: &'a str,
    pub(super) closed: bool,
    pub(super) automatic: bool,
    pub(super) merged_into: Option<&'a MemoryId>,
}

pub(super) fn insert(db: &Connection, project: i64, change: &Change<'_>) -> Result<(), Fault> {
    db.prepare_cached(
        "INSERT INTO memory_change (project, memory_id, kind, generation, status_before, before, \
             edit, note, key_id, created_at, closed, automatic, merged_into) \
         VALUES (:project, :memory, :kind, :generation, :status_before, :before, :edit, :note, \
             :key_id, :created_at, :closed, :automatic, :merged_into)",
    )?
    .execute(named_params! {
        ":project": project,
        ":memory": change.memory,
        ":kind": change.kind.as_str(),
        ":generation": change.generation,
        ":status_before": change.status_before.as_str(),
        ":before": change.before,
        ":edit": change.edit,
        ":note": change.note,
        ":key_id": change.key.map(KeyId::as_str),
        ":created_at": change.at,
        ":closed": change.closed,
        ":automatic": change.automatic,
        ":merged_into": change.merged_into.map(MemoryId::as_str),
    })?;
    Ok(())
}
