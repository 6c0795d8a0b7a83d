//! The rows of memories.

use std::collections::BTreeMap;

use reflect_types::{Aside, MemoryId, MemoryRecord};

use super::db::Db;
use super::fault::Fault;
use super::row::Row;
use super::value::params;
use crate::store::MemoryKey;

/// The columns of [`read`], from `memory m`.
pub(super) const MEMORY: &str = "m.key, m.id, m.trace_id, m.task, m.reflection, m.success, m.q, \
     m.uses, m.metadata, m.created_at, m.key_id, m.reviewer, m.given, m.alpha, m.generation, \
     CASE m.status WHEN 'active' THEN coalesce(m.hidden, 'active') ELSE m.status END AS status, \
     CASE WHEN m.status = 'active' THEN m.hidden_reason END AS hidden_reason, m.hidden_at, \
     CASE WHEN m.status = 'active' THEN (SELECT x.id FROM memory x \
         WHERE x.project = m.project AND x.key = m.hidden_into) END AS merged_into";

pub(super) fn read(row: &Row) -> Result<MemoryRecord, Fault> {
    Ok(MemoryRecord {
        id: row.get("id")?,
        trace_id: row.get("trace_id")?,
        task: row.get("task")?,
        reflection: row.json("reflection")?,
        success: row.get("success")?,
        q_value: row.get("q")?,
        uses: row.get("uses")?,
        metadata: row.json("metadata")?,
        created_at: row.get("created_at")?,
        status: row.get("status")?,
        key_id: row.get("key_id")?,
        reviewer: Some(row.reviewer()?),
        retrieved_memory_ids: row.json("given")?,
        alpha: Some(row.get("alpha")?),
        aside: match (row.get("hidden_reason")?, row.get("hidden_at")?) {
            (Some(reason), Some(since)) => Some(Aside { reason, since }),
            _ => None,
        },
        merged_into: row.get("merged_into")?,
    })
}

/// The keys of memories, also of those that are withdrawn.
pub(super) async fn keys_of(
    db: &Db<'_>,
    project: i64,
    ids: &[&MemoryId],
) -> Result<BTreeMap<MemoryId, MemoryKey>, Fault> {
    let names: Vec<&str> = ids.iter().map(|id| id.as_str()).collect();
    let select = "SELECT id, key FROM memory WHERE project = $1 AND id = ANY($2)";
    let rows = db.query(select, &params![project, names]).await?;
    rows.iter()
        .map(|row| Ok((row.get("id")?, row.get("key")?)))
        .collect()
}

/// The stored status of a memory.
pub(super) async fn status(
    db: &Db<'_>,
    project: i64,
    id: &MemoryId,
) -> Result<Option<String>, Fault> {
    let select = "SELECT status FROM memory WHERE project = $1 AND id = $2";
    db.value(select, &params![project, id]).await
}
