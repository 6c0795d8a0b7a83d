//! Undos of the last day, for reviews that were being written meanwhile.

use jiff::{SignedDuration, Timestamp};
use reflect_types::{KeyId, TraceId};

use super::fault::Fault;
use super::row::{self, PAST_UNDO};
use super::sql::Db;
use super::value::params;
use crate::clock;
use crate::review::{PastUndo, Selection};

/// Longer than a review can take to be written.
const KEPT: SignedDuration = SignedDuration::from_hours(24);

/// Records an undo.
pub(super) async fn record(
    db: &Db<'_>,
    project: i64,
    selection: &Selection,
    now: Timestamp,
) -> Result<(), Fault> {
    db.execute(
        "DELETE FROM undone WHERE project = $1 AND undone_at < $2",
        params![project, clock::text(now - KEPT)],
    )
    .await?;
    let reviewer = selection.reviewer.as_ref().map(row::to_json).transpose()?;
    db.execute(
        "INSERT INTO undone (project, undone_at, key_id, reviewer, trace_id, since, \
             until) VALUES ($1, $2, $3, $4, $5, $6, $7)",
        params![
            project,
            now.to_string(),
            selection.key_id.as_ref().map(KeyId::as_str),
            reviewer,
            selection.trace_id.as_ref().map(TraceId::as_str),
            selection.since.map(|at| at.to_string()),
            selection.until.map(|at| at.to_string()),
        ],
    )
    .await?;
    Ok(())
}

/// The undos that may cover reviews of this trace.
pub(super) async fn of_trace(
    db: &Db<'_>,
    project: i64,
    trace: &TraceId,
) -> Result<Vec<PastUndo>, Fault> {
    let rows = db
        .query(
            &format!(
                "SELECT {PAST_UNDO} FROM undone \
                 WHERE project = $1 AND (trace_id IS NULL OR trace_id = $2) ORDER BY key"
            ),
            params![project, trace.as_str()],
        )
        .await?;
    let mut undone = Vec::new();
    for found in &rows {
        undone.push(row::past_undo(found)?);
    }
    Ok(undone)
}
