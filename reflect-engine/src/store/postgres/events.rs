//! The utility events of memories.

use reflect_types::{KeyId, MemoryId, Reviewer, SetAsideEvent, TraceId, UtilityEvent};

use super::fault::Fault;
use super::row::{self, ByMemory};
use super::sql::{Db, Row};
use super::value::params;
use crate::learn::{Move, Step};
use crate::review::{RecordedEvent, TaughtEvent};
use crate::store::MemoryKey;

/// The events of memories that count, oldest first.
pub(super) async fn counted(
    db: &Db<'_>,
    keys: &[MemoryKey],
) -> Result<ByMemory<UtilityEvent>, Fault> {
    let rows = db
        .query(
            &format!(
                "SELECT {}, e.memory, m.id FROM utility_event e JOIN memory m ON m.key = e.memory \
                 WHERE e.memory = ANY($1) AND NOT e.aside ORDER BY e.key",
                row::EVENT
            ),
            params![keys],
        )
        .await?;
    let mut events = ByMemory::new();
    for found in &rows {
        let of_memory = events.entry(found.get(row::EVENT_COLUMNS)?).or_default();
        of_memory.push(event(found)?);
    }
    Ok(events)
}

/// The events of memories that do not count, oldest first.
pub(super) async fn set_aside(
    db: &Db<'_>,
    keys: &[MemoryKey],
) -> Result<ByMemory<SetAsideEvent>, Fault> {
    let rows = db
        .query(
            &format!(
                "SELECT {}, e.memory, m.id, (SELECT count(*) FROM utility_event c \
             WHERE c.memory = e.memory AND NOT c.aside AND c.key < e.key) \
         FROM utility_event e JOIN memory m ON m.key = e.memory \
         WHERE e.memory = ANY($1) AND e.aside ORDER BY e.key",
                row::EVENT
            ),
            params![keys],
        )
        .await?;
    let mut events = ByMemory::new();
    for found in &rows {
        let of_memory = events.entry(found.get(row::EVENT_COLUMNS)?).or_default();
        of_memory.push(SetAsideEvent {
            event: event(found)?,
            position: row::count(found, row::EVENT_COLUMNS + 2)?,
        });
    }
    Ok(events)
}

/// The event in a row of [`row::EVENT`], which the key and the id of its memory follow.
fn event(found: &Row) -> Result<UtilityEvent, Fault> {
    let memory = MemoryId::new(found.get::<String>(row::EVENT_COLUMNS + 1)?);
    row::event(found, &memory)
}

/// All events of a memory as a replay needs them, oldest first.
pub(super) async fn recorded(db: &Db<'_>, key: MemoryKey) -> Result<Vec<RecordedEvent>, Fault> {
    let taught = taught(db, key).await?;
    Ok(taught.into_iter().map(|taught| taught.event).collect())
}

/// All events of a memory with their traces, oldest first.
pub(super) async fn taught(db: &Db<'_>, key: MemoryKey) -> Result<Vec<TaughtEvent>, Fault> {
    let rows = db
        .query(
            "SELECT key, review_id, alpha, reward, before, after, aside, created_at, key_id, \
             reviewer_model, trace_id FROM utility_event WHERE memory = $1 ORDER BY key",
            params![key],
        )
        .await?;
    let mut events = Vec::new();
    for row in &rows {
        let (alpha, reward) = (row.get(2)?, row.get(3)?);
        let (before, after) = (row.get(4)?, row.get(5)?);
        events.push(TaughtEvent {
            trace_id: TraceId::new(row.get::<String>(10)?),
            event: RecordedEvent {
                key: row.get(0)?,
                review_id: row.get(1)?,
                teacher: row::teacher(row, 8)?,
                at: row::time(row, 7)?,
                aside: row.get(6)?,
                change: Move { alpha, reward },
                step: Step { before, after },
            },
        });
    }
    Ok(events)
}

/// Appends an event to a memory.
pub(super) async fn insert(
    db: &Db<'_>,
    memory: MemoryKey,
    event: &UtilityEvent,
    aside: bool,
) -> Result<(), Fault> {
    db.execute(
        "INSERT INTO utility_event (memory, trace_id, review_id, alpha, reward, before, \
             after, created_at, key_id, reviewer_model, aside) VALUES ($1, $2, $3, $4, $5, \
             $6, $7, $8, $9, $10, $11)",
        params![
            memory,
            event.trace_id.as_str(),
            event.review_id,
            event.alpha,
            event.reward,
            event.before,
            event.after,
            event.created_at,
            event.key_id.as_ref().map(KeyId::as_str),
            event.reviewer.as_ref().and_then(Reviewer::model_name),
            aside,
        ],
    )
    .await?;
    Ok(())
}
