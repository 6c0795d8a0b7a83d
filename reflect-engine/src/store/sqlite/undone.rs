//! Undos of the last day, for reviews that were being written meanwhile.

use jiff::{SignedDuration, Timestamp};
use reflect_types::{KeyId, TraceId};
use rusqlite::{Connection, params};

use super::fault::Fault;
use super::row::{self, PAST_UNDO};
use crate::clock;
use crate::review::{PastUndo, Selection};

/// Longer than a review can take to be written.
const KEPT: SignedDuration = SignedDuration::from_hours(24);

/// Records an undo.
pub(super) fn record(
    db: &Connection,
    project: i64,
    selection: &Selection,
    now: Timestamp,
) -> Result<(), Fault> {
    db.prepare_cached("DELETE FROM undone WHERE project = ?1 AND undone_at < ?2")?
        .execute(params![project, clock::text(now - KEPT)])?;
    let reviewer = selection.reviewer.as_ref().map(row::to_json).transpose()?;
    db.prepare_cached(
        "INSERT INTO undone (project, undone_at, key_id, reviewer, trace_id, since, until) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?
    .execute(params![
        project,
        now.to_string(),
        selection.key_id.as_ref().map(KeyId::as_str),
        reviewer,
        selection.trace_id.as_ref().map(TraceId::as_str),
        selection.since.map(|at| at.to_string()),
        selection.until.map(|at| at.to_string()),
    ])?;
    Ok(())
}

/// The undos that may cover reviews of this trace.
pub(super) fn of_trace(
    db: &Connection,
    project: i64,
    trace: &TraceId,
) -> Result<Vec<PastUndo>, Fault> {
    let mut select = db.prepare_cached(&format!(
        "SELECT {PAST_UNDO} FROM undone \
         WHERE project = ?1 AND (trace_id IS NULL OR trace_id = ?2) ORDER BY key"
    ))?;
    let mut rows = select.query(params![project, trace.as_str()])?;
    let mut undone = Vec::new();
    while let Some(found) = rows.next()? {
        undone.push(row::past_undo(found)?);
    }
    Ok(undone)
}
