//! Changes of memories by the holders of keys, and by Reflect itself.

use reflect_types::{
    ChangeKind, ChangeRecord, KeyId, ListMemoryChanges, MemoryId, MemoryStatus, Page, ProjectId,
};

use super::db::Db;
use super::events::ByMemory;
use super::fault::Fault;
use super::projects;
use super::row::{Row, to_json};
use super::value::params;
use crate::review::{Act, RecordedChange};
use crate::store::MemoryKey;
use crate::store::page::PAGE_BYTES;

/// The columns of [`read`], from `memory_change c` and the memory `m` that there still may be.
const CHANGE: &str = "c.key, c.memory_id, c.kind, c.key_id, c.note, c.status_before, c.before, c.edit, \
     c.created_at, c.kind = 'edited' AND c.generation < coalesce(m.generation, 0) AS superseded, \
     c.generation, c.automatic, c.merged_into";

fn read(row: &Row) -> Result<ChangeRecord, Fault> {
    Ok(ChangeRecord {
        id: row.get::<i64>("key")?.to_string(),
        memory_id: row.get("memory_id")?,
        kind: row.get("kind")?,
        key_id: row.get("key_id")?,
        note: row.get("note")?,
        status_before: row.get("status_before")?,
        before: row.optional_json("before")?,
        edit: row.optional_json("edit")?,
        created_at: row.get("created_at")?,
        superseded: row.get("superseded")?,
        generation: Some(row.get("generation")?),
        automatic: row.get("automatic")?,
        merged_into: row.get("merged_into")?,
    })
}

pub(super) async fn list(
    db: &Db<'_>,
    project: &ProjectId,
    list: &ListMemoryChanges,
) -> Result<Page<ChangeRecord>, Fault> {
    let project = projects::key(db, project).await?;
    let changes = ("memory_change", "key::text", "change");
    let before = ("before", list.before.as_deref());
    let before = projects::cursor(db, project, changes, before, i64::MAX).await?;
    let Some(project) = project else {
        return Ok(Page::default());
    };
    let limit = list.limit.unwrap_or(ListMemoryChanges::DEFAULT_LIMIT) as usize;
    // One more than the limit shows whether another page follows.
    let select = format!(
        "SELECT {CHANGE} FROM memory_change c LEFT JOIN memory m \
             ON m.project = c.project AND m.id = c.memory_id AND NOT c.closed \
         WHERE c.project = $1 AND c.key < $2 ORDER BY c.key DESC LIMIT $3"
    );
    let rows = db
        .query(&select, &params![project, before, limit + 1])
        .await?;
    let (mut page, mut bytes) = (Page::default(), 0);
    for found in &rows {
        if page.items.len() == limit || bytes > PAGE_BYTES {
            page.more = true;
            break;
        }
        bytes += found.bytes();
        page.items.push(read(found)?);
    }
    Ok(page)
}

/// The changes of memories, oldest first.
pub(super) async fn of_memories(
    db: &Db<'_>,
    project: i64,
    keys: &[MemoryKey],
) -> Result<ByMemory<ChangeRecord>, Fault> {
    let select = format!(
        "SELECT {CHANGE}, m.key AS memory FROM memory m \
             JOIN memory_change c ON c.project = m.project AND c.memory_id = m.id \
         WHERE m.project = $1 AND m.key = ANY($2) AND NOT c.closed ORDER BY c.key"
    );
    let mut changes = ByMemory::new();
    for row in &db.query(&select, &params![project, keys]).await? {
        let of_memory = changes.entry(row.get("memory")?).or_insert_with(Vec::new);
        of_memory.push(read(row)?);
    }
    Ok(changes)
}

/// The changes of memories as a replay needs them, without those of Reflect itself, oldest first.
pub(super) async fn recorded(
    db: &Db<'_>,
    project: i64,
    keys: &[MemoryKey],
) -> Result<ByMemory<RecordedChange>, Fault> {
    let select = "SELECT m.key AS memory, c.key, c.key_id, c.created_at, c.generation, c.status_before, \
             c.kind, c.before, c.edit FROM memory m \
             JOIN memory_change c ON c.project = m.project AND c.memory_id = m.id \
         WHERE m.project = $1 AND m.key = ANY($2) AND NOT c.closed AND NOT c.automatic ORDER BY c.key";
    let mut changes = ByMemory::new();
    for row in &db.query(select, &params![project, keys]).await? {
        let act = match row.get("kind")? {
            ChangeKind::Edited => Act::Edit {
                edit: row.json("edit")?,
                before: row.json("before")?,
            },
            ChangeKind::Quarantined => Act::SetStatus(MemoryStatus::Quarantined),
            _ => Act::SetStatus(MemoryStatus::Active),
        };
        let of_memory = changes.entry(row.get("memory")?).or_insert_with(Vec::new);
        of_memory.push(RecordedChange {
            key: row.get("key")?,
            key_id: row.get("key_id")?,
            at: row.get("created_at")?,
            generation: row.get("generation")?,
            status_before: row.get("status_before")?,
            act,
        });
    }
    Ok(changes)
}

/// Deletes the changes of memories, but the record of a deletion.
pub(super) async fn forget(db: &Db<'_>, project: i64, memories: &[&str]) -> Result<(), Fault> {
    let forget =
        "DELETE FROM memory_change WHERE project = $1 AND memory_id = ANY($2) AND NOT closed";
    let memories = memories.to_vec();
    db.execute(forget, &params![project, memories])
        .await
        .map(drop)
}

/// Stores the changes of an imported memory.
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
            (Some(before), Some(edit)) if is_edit => (Some(to_json(before)?), Some(to_json(edit)?)),
            // Neither can be replayed.
            _ if is_edit || change.kind == ChangeKind::Deleted => continue,
            _ => (None, None),
        };
        let generation = change.generation.unwrap_or(generation);
        let change = Change {
            memory,
            kind: &change.kind,
            generation: i64::try_from(generation).unwrap_or(i64::MAX),
            status_before: &change.status_before,
            before,
            edit,
            note: change.note.as_deref(),
            key: change.key_id.as_ref(),
            at: &change.created_at,
            closed: false,
            automatic: change.automatic,
            merged_into: change.merged_into.as_ref(),
        };
        insert(db, project, &change).await?;
    }
    Ok(())
}

/// A change to insert.
pub(super) struct Change<'a> {
    pub(super) memory: &'a MemoryId,
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
        "INSERT INTO memory_change (project, memory_id, kind, generation, status_before, before, edit, \
             note, key_id, created_at, closed, automatic, merged_into) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
        &params![
            project,
            change.memory,
            change.kind,
            change.generation,
            change.status_before,
            change.before,
            change.edit,
            change.note,
            change.key,
            change.at,
            change.closed,
            change.automatic,
            change.merged_into,
        ],
    )
    .await
    .map(drop)
}
