//! Memories as rows, with their events and changes.

use reflect_types::{
    Aside, ChangeKind, ChangeRecord, MemoryId, MemoryRecord, MemoryStatus, TraceId, UtilityEvent,
};

use super::{
    Row, columns, count, json, key_id, memory_id, name, optional, optional_json, owned, reviewer,
    time,
};
use crate::review::{Act, LearnedText, RecordedChange};

/// The columns of [`memory`], from `memory m`.
pub(in crate::store) const MEMORY: &str = "m.key, m.id, m.trace_id, m.task, m.reflection, m.success, m.q, \
     m.uses, m.metadata, m.created_at, \
     CASE m.status WHEN 'active' THEN coalesce(m.aside, 'active') ELSE m.status END, m.key_id, \
     m.reviewer_model, m.given, m.alpha, CASE WHEN m.status = 'active' THEN m.aside_reason END, \
     m.aside_at, CASE WHEN m.status = 'active' THEN \
         (SELECT x.id FROM memory x WHERE x.key = m.aside_into) END";

/// The number of columns of [`MEMORY`].
pub(in crate::store) const MEMORY_COLUMNS: usize = 18;

/// The memory after the key in column 0.
pub(in crate::store) fn memory<R: Row>(row: &R) -> Result<MemoryRecord, R::Fault> {
    Ok(MemoryRecord {
        id: MemoryId::new(owned(row, 1)?),
        trace_id: TraceId::new(owned(row, 2)?),
        task: owned(row, 3)?,
        reflection: json(row, 4)?,
        success: row.flag(5)?,
        q_value: row.real(6)?,
        uses: count(row, 7)?,
        metadata: json(row, 8)?,
        created_at: owned(row, 9)?,
        status: name(row, 10)?,
        key_id: key_id(row, 11)?,
        reviewer: Some(reviewer(row, 12)?),
        retrieved_memory_ids: json(row, 13)?,
        alpha: Some(row.real(14)?),
        aside: match (optional(row, 15)?, optional(row, 16)?) {
            (Some(reason), Some(since)) => Some(Aside { reason, since }),
            _ => None,
        },
        merged_into: memory_id(row, 17)?,
    })
}

/// The columns of [`event`], from `utility_event e`.
pub(in crate::store) const EVENT: &str = "e.trace_id, e.review_id, e.alpha, e.reward, e.before, e.after, e.created_at, e.key_id, \
     e.reviewer_model";

/// The number of columns of [`EVENT`].
pub(in crate::store) const EVENT_COLUMNS: usize = columns(EVENT);

pub(in crate::store) fn event<R: Row>(
    row: &R,
    memory_id: &MemoryId,
) -> Result<UtilityEvent, R::Fault> {
    Ok(UtilityEvent {
        memory_id: memory_id.clone(),
        trace_id: TraceId::new(owned(row, 0)?),
        review_id: owned(row, 1)?,
        alpha: row.real(2)?,
        reward: row.real(3)?,
        before: row.real(4)?,
        after: row.real(5)?,
        created_at: owned(row, 6)?,
        key_id: key_id(row, 7)?,
        reviewer: Some(reviewer(row, 8)?),
    })
}

/// The text of a memory in the columns of `generation, learned`.
pub(in crate::store) fn learned_text<R: Row>(
    row: &R,
    column: usize,
) -> Result<Option<LearnedText>, R::Fault> {
    let Some(reflection) = optional_json(row, column + 1)? else {
        return Ok(None);
    };
    Ok(Some(LearnedText {
        reflection,
        generation: row.integer(column)?,
    }))
}

/// The columns of [`change`], from `memory_change c LEFT JOIN memory m`.
pub(in crate::store) const CHANGE: &str = "c.key, c.memory_id, c.kind, c.key_id, c.note, c.status_before, c.before, \
     c.edit, c.created_at, c.kind = 'edited' AND c.generation < coalesce(m.generation, 0), \
     c.generation, c.automatic, c.merged_into";

/// The number of columns of [`CHANGE`].
pub(in crate::store) const CHANGE_COLUMNS: usize = 13;

pub(in crate::store) fn change<R: Row>(row: &R) -> Result<ChangeRecord, R::Fault> {
    Ok(ChangeRecord {
        id: row.integer(0)?.to_string(),
        memory_id: MemoryId::new(owned(row, 1)?),
        kind: name(row, 2)?,
        key_id: key_id(row, 3)?,
        note: optional(row, 4)?,
        status_before: name(row, 5)?,
        before: optional_json(row, 6)?,
        edit: optional_json(row, 7)?,
        created_at: owned(row, 8)?,
        superseded: row.flag(9)?,
        // Negative in a change of an archive of an older version.
        generation: u64::try_from(row.integer(10)?).ok(),
        automatic: row.flag(11)?,
        merged_into: memory_id(row, 12)?,
    })
}

/// A change as a replay needs it, in the columns of [`RECORDED`]; `None` for one of Reflect itself.
pub(in crate::store) fn recorded_change<R: Row>(
    row: &R,
) -> Result<Option<RecordedChange>, R::Fault> {
    if row.flag(8)? {
        return Ok(None);
    }
    let act = match name(row, 5)? {
        ChangeKind::Edited => Act::Edit {
            edit: json(row, 7)?,
            before: json(row, 6)?,
        },
        ChangeKind::Quarantined => Act::SetStatus(MemoryStatus::Quarantined),
        _ => Act::SetStatus(MemoryStatus::Active),
    };
    Ok(Some(RecordedChange {
        key: row.integer(0)?,
        key_id: key_id(row, 1)?,
        at: time(row, 2)?,
        generation: row.integer(3)?,
        status_before: name(row, 4)?,
        act,
    }))
}

/// The columns of [`recorded_change`], from `memory_change c`.
pub(in crate::store) const RECORDED: &str = "c.key, c.key_id, c.created_at, c.generation, c.status_before, c.kind, c.before, \
     c.edit, c.automatic";
