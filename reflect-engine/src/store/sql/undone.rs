//! Undos of the last day, for reviews that were being written meanwhile.

use jiff::{SignedDuration, Timestamp};
use reflect_types::TraceId;

use super::db::Db;
use super::fault::Fault;
use super::row::to_json;
use super::value::params;
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
    let forget = "DELETE FROM undone WHERE project = $1 AND undone_at < $2";
    db.execute(forget, &params![project, now - KEPT]).await?;
    let reviewer = selection.reviewer.as_ref().map(to_json).transpose()?;
    db.execute(
        "INSERT INTO undone (project, undone_at, key_id, reviewer, trace_id, since, until) \
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
        &params![
            project,
            // To the nanosecond, as reviews are compared with them.
            now.to_string(),
            selection.key_id,
            reviewer,
            selection.trace_id,
            selection.since.map(|at| at.to_string()),
            selection.until.map(|at| at.to_string()),
        ],
    )
    .await
    .map(drop)
}

/// The undos of a project.
pub(super) async fn all(db: &Db<'_>, project: i64) -> Result<Vec<PastUndo>, Fault> {
    let select = "SELECT undone_at, key_id, reviewer, trace_id, since, until FROM undone \
         WHERE project = $1 ORDER BY key";
    let rows = db.query(select, &params![project]).await?;
    let undone = rows.iter().map(|row| {
        Ok(PastUndo {
            at: row.get("undone_at")?,
            selection: Selection {
                key_id: row.get("key_id")?,
                reviewer: row.optional_json("reviewer")?,
                trace_id: row.get("trace_id")?,
                since: row.get("since")?,
                until: row.get("until")?,
            },
        })
    });
    undone.collect()
}

/// Whether an undo may cover reviews of this trace.
pub(super) fn is_of(undo: &PastUndo, trace: &TraceId) -> bool {
    let named = undo.selection.trace_id.as_ref();
    named.is_none_or(|named| named == trace)
}
