//! The utility events of memories.

use std::collections::HashMap;

use reflect_types::{SetAsideEvent, UtilityEvent};

use super::db::Db;
use super::fault::Fault;
use super::row::Row;
use super::value::{Rows, params};
use crate::learn::{Move, Step};
use crate::review::{RecordedEvent, TaughtEvent};
use crate::store::MemoryKey;

/// What belongs to memories, by their keys.
pub(super) type ByMemory<T> = HashMap<MemoryKey, Vec<T>>;

/// The columns of [`read`], from an event `e` of a memory `m`.
const EVENT: &str = "e.memory, m.id AS memory_id, e.trace_id, e.review_id, e.alpha, e.reward, \
     e.before, e.after, e.created_at, e.key_id, e.reviewer";

/// The memories `m` of events `e`.
const OF_MEMORY: &str =
    "utility_event e JOIN memory m ON m.project = e.project AND m.key = e.memory";

fn read(row: &Row) -> Result<UtilityEvent, Fault> {
    Ok(UtilityEvent {
        memory_id: row.get("memory_id")?,
        trace_id: row.get("trace_id")?,
        review_id: row.get("review_id")?,
        alpha: row.get("alpha")?,
        reward: row.get("reward")?,
        before: row.get("before")?,
        after: row.get("after")?,
        created_at: row.get("created_at")?,
        key_id: row.get("key_id")?,
        reviewer: Some(row.reviewer()?),
    })
}

/// The events of memories that count, oldest first.
pub(super) async fn counted(
    db: &Db<'_>,
    project: i64,
    keys: &[MemoryKey],
) -> Result<ByMemory<UtilityEvent>, Fault> {
    let select = format!(
        "SELECT {EVENT} FROM {OF_MEMORY} \
         WHERE e.project = $1 AND e.memory = ANY($2) AND NOT e.void ORDER BY e.key"
    );
    let mut events = ByMemory::new();
    for row in &db.query(&select, &params![project, keys]).await? {
        let of_memory = events.entry(row.get("memory")?).or_insert_with(Vec::new);
        of_memory.push(read(row)?);
    }
    Ok(events)
}

/// The events of memories that do not count, oldest first.
pub(super) async fn void(
    db: &Db<'_>,
    project: i64,
    keys: &[MemoryKey],
) -> Result<ByMemory<SetAsideEvent>, Fault> {
    let select = format!(
        "SELECT {EVENT}, (SELECT count(*) FROM utility_event c WHERE c.project = e.project \
             AND c.memory = e.memory AND NOT c.void AND c.key < e.key) AS position FROM {OF_MEMORY} \
         WHERE e.project = $1 AND e.memory = ANY($2) AND e.void ORDER BY e.key"
    );
    let mut events = ByMemory::new();
    for row in &db.query(&select, &params![project, keys]).await? {
        let of_memory = events.entry(row.get("memory")?).or_insert_with(Vec::new);
        of_memory.push(SetAsideEvent {
            event: read(row)?,
            position: row.get("position")?,
        });
    }
    Ok(events)
}

/// All events of memories with their traces, as a replay needs them, oldest first.
pub(super) async fn taught(
    db: &Db<'_>,
    project: i64,
    keys: &[MemoryKey],
) -> Result<ByMemory<TaughtEvent>, Fault> {
    if keys.is_empty() {
        return Ok(ByMemory::new());
    }
    let select = "SELECT memory, key, review_id, alpha, reward, before, after, void, created_at, key_id, \
             reviewer, trace_id FROM utility_event \
         WHERE project = $1 AND memory = ANY($2) ORDER BY key";
    let mut events = ByMemory::new();
    for row in &db.query(select, &params![project, keys]).await? {
        let (alpha, reward) = (row.get("alpha")?, row.get("reward")?);
        let (before, after) = (row.get("before")?, row.get("after")?);
        let of_memory = events.entry(row.get("memory")?).or_insert_with(Vec::new);
        of_memory.push(TaughtEvent {
            trace_id: row.get("trace_id")?,
            event: RecordedEvent {
                key: row.get("key")?,
                review_id: row.get("review_id")?,
                teacher: row.teacher()?,
                at: row.get("created_at")?,
                void: row.get("void")?,
                change: Move { alpha, reward },
                step: Step { before, after },
            },
        });
    }
    Ok(events)
}

/// Appends the events of an archived memory, which count or are void.
pub(super) async fn insert(
    db: &Db<'_>,
    project: i64,
    memory: MemoryKey,
    events: &[(&UtilityEvent, bool)],
) -> Result<(), Fault> {
    let mut rows = Rows::new(
        "project bigint, memory bigint, trace_id text, review_id text, alpha float8, reward float8, \
             before float8, after float8, created_at text, key_id text, reviewer text, \
             void boolean",
    );
    for (event, void) in events {
        rows.push(params![
            project,
            memory,
            event.trace_id,
            event.review_id,
            event.alpha,
            event.reward,
            event.before,
            event.after,
            event.created_at,
            event.key_id,
            event.reviewer,
            void,
        ]);
    }
    db.insert("utility_event", &rows).await
}
