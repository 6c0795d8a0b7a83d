//! The memories that traces were given and that count for them no longer.

use std::collections::BTreeMap;

use reflect_types::MemoryId;

use super::db::Db;
use super::fault::Fault;
use super::row::to_json;
use super::value::{Rows, params};
use crate::store::MemoryKey;

/// What becomes of memories in the lists of those that traces ignore.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ignored {
    /// The traces with an event of a memory that counts name it.
    Named,
    /// The traces with an event of a memory no longer name it.
    Forgotten,
}

/// Changes which memories the traces that were given them ignore. Not in SQL, because the functions of databases refuse
/// some of the texts that are allowed in JSON.
pub(super) async fn change(
    db: &Db<'_>,
    project: i64,
    memories: &[(MemoryKey, &MemoryId)],
    becomes: Ignored,
) -> Result<(), Fault> {
    let keys: Vec<MemoryKey> = memories.iter().map(|(key, _)| *key).collect();
    let ids: BTreeMap<MemoryKey, &MemoryId> = memories.iter().copied().collect();
    let counted = match becomes {
        Ignored::Named => "AND NOT e.void",
        Ignored::Forgotten => "",
    };
    let select = format!(
        "SELECT DISTINCT t.key, e.memory FROM utility_event e \
             JOIN trace t ON t.project = e.project AND t.id = e.trace_id \
         WHERE e.project = $1 AND e.memory = ANY($2) {counted}"
    );
    let mut by_trace = BTreeMap::<i64, Vec<&MemoryId>>::new();
    for row in &db.query(&select, &params![project, keys]).await? {
        let id = ids.get(&row.get("memory")?);
        by_trace.entry(row.get("key")?).or_default().extend(id);
    }
    let traces: Vec<i64> = by_trace.keys().copied().collect();
    if traces.is_empty() {
        return Ok(());
    }
    let select = "SELECT key, ignored FROM trace WHERE project = $1 AND key = ANY($2)";
    let mut changed = Vec::new();
    for row in &db.query(select, &params![project, traces]).await? {
        let trace = row.get("key")?;
        let before: Vec<MemoryId> = row.json("ignored")?;
        let mut after = before.clone();
        for id in by_trace.remove(&trace).unwrap_or_default() {
            after.retain(|known| known != id);
            if becomes == Ignored::Named {
                after.push(id.clone());
            }
        }
        if after.len() != before.len() {
            changed.push((trace, to_json(&after)?));
        }
    }
    let mut rows = Rows::new("project bigint, key bigint, ignored text");
    for (trace, ignored) in &changed {
        rows.push(params![project, trace, ignored]);
    }
    db.update("trace", &rows).await
}
