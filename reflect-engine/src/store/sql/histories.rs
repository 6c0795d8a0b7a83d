//! Memories with their events and changes, read for many at a time.

use reflect_types::{ArchivedMemory, MemoryHistory, MergedMemory};

use super::db::Db;
use super::events::{self, ByMemory};
use super::fault::Fault;
use super::row::Row;
use super::value::params;
use super::{memory_changes, memory_rows};
use crate::store::MemoryKey;

/// How many memories are read at a time: a page may end early, and a memory may have many events.
pub(super) const PORTION: usize = 32;

/// The memories in rows of [`memory_rows::MEMORY`].
pub(super) async fn of(
    db: &Db<'_>,
    project: i64,
    rows: &[Row],
) -> Result<Vec<MemoryHistory>, Fault> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let keys = keys(rows)?;
    let mut events = events::counted(db, project, &keys).await?;
    let mut changes = memory_changes::of_memories(db, project, &keys).await?;
    let mut merged = merged(db, project, &keys).await?;
    let histories = rows.iter().zip(&keys).map(|(found, key)| {
        Ok(MemoryHistory {
            memory: memory_rows::read(found)?,
            events: events.remove(key).unwrap_or_default(),
            changes: changes.remove(key).unwrap_or_default(),
            merged: merged.remove(key).unwrap_or_default(),
        })
    });
    histories.collect()
}

/// The same for an archive.
pub(super) async fn archived(
    db: &Db<'_>,
    project: i64,
    rows: &[Row],
) -> Result<Vec<ArchivedMemory>, Fault> {
    let keys = keys(rows)?;
    let mut void = events::void(db, project, &keys).await?;
    let histories = of(db, project, rows).await?;
    let archived = rows.iter().zip(&keys).zip(histories);
    let archived = archived.map(|((found, key), history)| {
        Ok(ArchivedMemory {
            history,
            generation: found.get("generation")?,
            set_aside: void.remove(key).unwrap_or_default(),
        })
    });
    archived.collect()
}

fn keys(rows: &[Row]) -> Result<Vec<MemoryKey>, Fault> {
    rows.iter().map(|row| row.get("key")).collect()
}

/// The memories that each of these stands for, oldest first.
async fn merged(
    db: &Db<'_>,
    project: i64,
    keys: &[MemoryKey],
) -> Result<ByMemory<MergedMemory>, Fault> {
    let select = "SELECT id, trace_id, hidden_into FROM (SELECT key, id, trace_id, hidden_into, \
             row_number() OVER (PARTITION BY hidden_into ORDER BY key) AS place \
             FROM memory WHERE project = $1 AND hidden_into = ANY($2) AND status = 'active') AS merged \
         WHERE place <= $3 ORDER BY key";
    let most = MemoryHistory::MAX_MERGED;
    let mut merged = ByMemory::new();
    for row in &db.query(select, &params![project, keys, most]).await? {
        let of_memory = merged
            .entry(row.get("hidden_into")?)
            .or_insert_with(Vec::new);
        of_memory.push(MergedMemory {
            memory_id: row.get("id")?,
            trace_id: row.get("trace_id")?,
        });
    }
    Ok(merged)
}
