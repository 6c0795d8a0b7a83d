//! Memories with their events and changes, read for many at a time.

use reflect_types::{ArchivedMemory, MemoryHistory, MemoryId, MergedMemory, TraceId};

use super::fault::Fault;
use super::row::ByMemory;
use super::sql::{Db, Row};
use super::value::params;
use super::{events, memory_changes, row};
use crate::store::MemoryKey;

/// How many memories are read at a time: a page may end early, and a memory may have many events.
pub(super) const PORTION: usize = 32;

/// The memories in rows of [`row::MEMORY`].
pub(super) async fn of(db: &Db<'_>, rows: &[Row]) -> Result<Vec<MemoryHistory>, Fault> {
    let keys = keys(rows)?;
    let mut events = events::counted(db, &keys).await?;
    let mut changes = memory_changes::of_memories(db, &keys).await?;
    let mut merged = merged(db, &keys).await?;
    let histories = rows.iter().zip(&keys).map(|(found, key)| {
        Ok(MemoryHistory {
            memory: row::memory(found)?,
            events: events.remove(key).unwrap_or_default(),
            changes: changes.remove(key).unwrap_or_default(),
            merged: merged.remove(key).unwrap_or_default(),
        })
    });
    histories.collect()
}

/// The same for an archive. The generation follows the columns of [`row::MEMORY`].
pub(super) async fn archived(db: &Db<'_>, rows: &[Row]) -> Result<Vec<ArchivedMemory>, Fault> {
    let keys = keys(rows)?;
    let mut set_aside = events::set_aside(db, &keys).await?;
    let histories = of(db, rows).await?;
    let archived = rows.iter().zip(&keys).zip(histories);
    let archived = archived.map(|((found, key), history)| {
        Ok(ArchivedMemory {
            history,
            generation: row::count(found, row::MEMORY_COLUMNS)?,
            set_aside: set_aside.remove(key).unwrap_or_default(),
        })
    });
    archived.collect()
}

fn keys(rows: &[Row]) -> Result<Vec<MemoryKey>, Fault> {
    rows.iter().map(|row| row.get(0)).collect()
}

/// The memories that each of these stands for, oldest first.
async fn merged(db: &Db<'_>, keys: &[MemoryKey]) -> Result<ByMemory<MergedMemory>, Fault> {
    let rows = db
        .query(
            "SELECT id, trace_id, aside_into FROM (SELECT key, id, trace_id, aside_into, \
                 row_number() OVER (PARTITION BY aside_into ORDER BY key) AS place \
                 FROM memory WHERE aside_into = ANY($1) AND status = 'active') AS merged \
             WHERE place <= $2 ORDER BY key",
            params![keys, row::limit(MemoryHistory::MAX_MERGED)],
        )
        .await?;
    let mut merged = ByMemory::new();
    for row in &rows {
        let of_memory = merged.entry(row.get(2)?).or_default();
        of_memory.push(MergedMemory {
            memory_id: MemoryId::new(row.get::<String>(0)?),
            trace_id: TraceId::new(row.get::<String>(1)?),
        });
    }
    Ok(merged)
}
