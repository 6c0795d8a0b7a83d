//! The memories that traces were given and that count for them no longer.

use reflect_types::MemoryId;

use super::fault::Fault;
use super::row;
use super::sql::Db;
use super::value::params;
use crate::store::MemoryKey;

/// The traces with an event of this memory name it among those they ignore.
pub(super) async fn ignore(
    db: &Db<'_>,
    project: i64,
    key: MemoryKey,
    id: &MemoryId,
) -> Result<(), Fault> {
    let counted = "SELECT trace_id FROM utility_event WHERE memory = $2 AND NOT aside";
    change_ignored(db, project, key, counted, |ignored| {
        if !ignored.contains(id) {
            ignored.push(id.clone());
        }
    })
    .await
}

/// The traces with an event of this memory no longer name it among those they ignore.
pub(super) async fn count(
    db: &Db<'_>,
    project: i64,
    key: MemoryKey,
    id: &MemoryId,
) -> Result<(), Fault> {
    let of_memory = "SELECT trace_id FROM utility_event WHERE memory = $2";
    change_ignored(db, project, key, of_memory, |ignored| {
        ignored.retain(|ignored| ignored != id);
    })
    .await
}

/// Changes the ignored memories of the traces with these ids. Not in SQL, because the functions of
/// PostgreSQL refuse some of the texts that are allowed in JSON.
async fn change_ignored(
    db: &Db<'_>,
    project: i64,
    key: MemoryKey,
    ids: &str,
    change: impl Fn(&mut Vec<MemoryId>),
) -> Result<(), Fault> {
    let select = format!("SELECT key, ignored FROM trace WHERE project = $1 AND id IN ({ids})");
    let (mut keys, mut lists) = (Vec::new(), Vec::new());
    for found in db.query(&select, params![project, key]).await? {
        let before: Vec<MemoryId> = row::json(&found, 1)?;
        let mut after = before.clone();
        change(&mut after);
        if after != before {
            keys.push(found.get::<i64>(0)?);
            lists.push(row::to_json(&after)?);
        }
    }
    db.execute(
        "UPDATE trace SET ignored = changed.ignored FROM unnest($1::bigint[], $2::text[]) \
             AS changed (key, ignored) WHERE trace.key = changed.key",
        params![keys.as_slice(), lists.as_slice()],
    )
    .await?;
    Ok(())
}
