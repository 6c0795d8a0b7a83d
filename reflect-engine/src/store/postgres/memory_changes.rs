//! Changes of memories by the holders of keys, and by Reflect itself.

use reflect_types::{
    ChangeKind, ChangeRecord, KeyId, ListMemoryChanges, MemoryId, MemoryStatus, Page, ProjectId,
};

use super::fault::Fault;
use super::row::{ByMemory, CHANGE, CHANGE_COLUMNS, RECORDED};
use super::sql::Db;
use super::value::params;
use super::{projects, row};
use crate::error::Error;
use crate::review::RecordedChange;
use crate::store::MemoryKey;
use crate::store::page::PAGE_BYTES;

pub(super) async fn list(
    db: &Db<'_>,
    project: &ProjectId,
    list: &ListMemoryChanges,
) -> Result<Page<ChangeRecord>, Fault> {
    let project = projects::key(db, project).await?;
    let before: i64 = match &list.before {
        // Without a project this finds nothing: NULL equals nothing.
        Some(id) => db
            .value(
                "SELECT key FROM memory_change WHERE project = $2 AND key::text = $1",
                params![id, project],
            )
            .await?
            .ok_or_else(|| Error::unknown_cursor("before", "change", id))?,
        None => i64::MAX,
    };
    let Some(project) = project else {
        return Ok(Page::default());
    };
    let limit = list.limit.unwrap_or(ListMemoryChanges::DEFAULT_LIMIT) as usize;
    // One more than the limit shows whether another page follows.
    let rows = db
        .query(
            &format!(
                "SELECT {CHANGE} FROM memory_change c LEFT JOIN memory m \
             ON m.project = c.project AND m.id = c.memory_id AND NOT c.closed \
         WHERE c.project = $1 AND c.key < $2 ORDER BY c.key DESC LIMIT $3"
            ),
            params![project, before, row::limit(limit + 1)],
        )
        .await?;
    let (mut page, mut bytes) = (Page::default(), 0);
    for found in &rows {
        if page.items.len() == limit || bytes > PAGE_BYTES {
            page.more = true;
            break;
        }
        bytes += found.bytes();
        page.items.push(row::change(found)?);
    }
    Ok(page)
}

/// The changes of memories, oldest first.
pub(super) async fn of_memories(
    db: &Db<'_>,
    keys: &[MemoryKey],
) -> Result<ByMemory<ChangeRecord>, Fault> {
    let select = format!(
        "SELECT {CHANGE}, m.key FROM memory_change c \
             JOIN memory m ON m.project = c.project AND m.id = c.memory_id \
         WHERE m.key = ANY($1) AND NOT c.closed ORDER BY c.key"
    );
    let rows = db.query(&select, params![keys]).await?;
    let mut changes = ByMemory::new();
    for found in &rows {
        let of_memory = changes.entry(found.get(CHANGE_COLUMNS)?).or_default();
        of_memory.push(row::change(found)?);
    }
    Ok(changes)
}

/// The changes of a memory as a replay needs them, without those of Reflect itself, oldest first.
pub(super) async fn recorded(db: &Db<'_>, key: MemoryKey) -> Result<Vec<RecordedChange>, Fault> {
    let rows = db
        .query(
            &format!(
                "SELECT {RECORDED} FROM memory_change c \
                 JOIN memory m ON m.project = c.project AND m.id = c.memory_id \
                 WHERE m.key = $1 AND NOT c.closed ORDER BY c.key"
            ),
            params![key],
        )
        .await?;
    let mut changes = Vec::new();
    for found in &rows {
        changes.extend(row::recorded_change(found)?);
    }
    Ok(changes)
}

/// Deletes the changes of a memory.
pub(super) async fn forget(db: &Db<'_>, project: i64, id: &MemoryId) -> Result<(), Fault> {
    db.execute(
        "DELETE FROM memory_change WHERE project = $1 AND memory_id = $2 AND NOT closed",
        params![project, id.as_str()],
    )
    .await?;
    Ok(())
}

/// Stores the changes of an imported memory. Those of an older version have no generation.
pub(super) async fn import(
    db: &Db<'_>,
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
        )
        .await?;
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

pub(super) async fn insert(db: &Db<'_>, project: i64, change: &Change<'_>) -> Result<(), Fault> {
    db.execute(
        "INSERT INTO memory_change (project, memory_id, kind, generation, status_before, \
             before, edit, note, key_id, created_at, closed, automatic, merged_into) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
        params![
            project,
            change.memory,
            change.kind.as_str(),
            change.generation,
            change.status_before.as_str(),
            change.before,
            change.edit,
            change.note,
            change.key.map(KeyId::as_str),
            change.at,
            change.closed,
            change.automatic,
            change.merged_into.map(MemoryId::as_str),
        ],
    )
    .await?;
    Ok(())
}
