//! Memories that another one stands for.

use reflect_types::{MemoryHistory, MemoryId, MergedMemory, TraceId};
use rusqlite::Connection;

use super::fault::Fault;
use super::row;
use crate::store::MemoryKey;

/// The memories that this one stands for, oldest first.
pub(super) fn merged_into(db: &Connection, key: MemoryKey) -> Result<Vec<MergedMemory>, Fault> {
    let mut select = db.prepare_cached(
        "SELECT id, trace_id FROM memory WHERE aside_into = ?1 AND status = 'active' \
         ORDER BY key LIMIT ?2",
    )?;
    let most = row::limit(MemoryHistory::MAX_MERGED);
    let merged = select.query_map([key, most], |row| {
        Ok(MergedMemory {
            memory_id: MemoryId::new(row.get::<_, String>(0)?),
            trace_id: TraceId::new(row.get::<_, String>(1)?),
        })
    })?;
    Ok(merged.collect::<rusqlite::Result<_>>()?)
}
