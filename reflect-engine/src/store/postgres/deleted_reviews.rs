//! The reviews of deleted traces.

use reflect_types::{KeyId, TraceId};

use super::fault::Fault;
use super::row;
use super::sql::Db;
use super::value::params;
use crate::review::{Outcome, PastState, ReviewHistory, Selection, TraceChange};

/// Keeps the reviews of a trace that is about to be deleted, without their texts.
pub(super) async fn keep(db: &Db<'_>, trace: i64) -> Result<(), Fault> {
    db.execute(
        "INSERT INTO deleted_review (project, trace, trace_id, is_current, key_id, \
             reviewer_model, created_at, id, verdict, alpha, memory_id, learned, generation) \
             SELECT t.project, t.key, t.id, false, p.key_id, p.reviewer_model, p.created_at, \
             p.id, p.verdict, p.alpha, p.memory_id, p.learned, p.generation FROM past_review \
             p JOIN trace t ON t.key = p.trace WHERE t.key = $1 ORDER BY p.key",
        params![trace],
    )
    .await?;
    db.execute(
        "INSERT INTO deleted_review (project, trace, trace_id, is_current, key_id, \
             reviewer_model, created_at, id, verdict, alpha, memory_id, generation) SELECT \
             t.project, t.key, t.id, true, r.key_id, r.reviewer_model, r.created_at, r.id, \
             r.verdict, r.alpha, CASE WHEN t.ingest_status = 'completed' THEN \
             t.created_memory ELSE NULL END, 0 FROM review r JOIN trace t ON t.key = r.trace \
             WHERE t.key = $1",
        params![trace],
    )
    .await?;
    Ok(())
}

/// The histories of deleted traces that a selection may cover.
pub(super) async fn histories(
    db: &Db<'_>,
    project: i64,
    selection: &Selection,
) -> Result<Vec<ReviewHistory>, Fault> {
    let key = selection.key_id.as_ref().map(KeyId::as_str);
    let trace = selection.trace_id.as_ref().map(TraceId::as_str);
    let rows = db
        .query(
            "SELECT key, trace, trace_id, is_current, key_id, reviewer_model, created_at, id, \
             verdict, alpha, NULL::text, NULL::text, memory_id, generation, learned FROM \
             deleted_review WHERE project = $1 AND trace IN ( SELECT trace FROM \
             deleted_review WHERE project = $1 AND ($2::text IS NULL OR key_id = $2) AND \
             ($3::text IS NULL OR trace_id = $3)) ORDER BY trace, key",
            params![project, key, trace],
        )
        .await?;
    let mut histories: Vec<ReviewHistory> = Vec::new();
    for found in &rows {
        let trace: i64 = found.get(1)?;
        if histories.last().is_none_or(|last| last.trace != trace) {
            histories.push(ReviewHistory {
                trace,
                trace_id: TraceId::new(found.get::<String>(2)?),
                deleted: true,
                past: Vec::new(),
                current: None,
            });
        }
        let Some(history) = histories.last_mut() else {
            continue;
        };
        let given = row::given_review(found, 4)?;
        if found.get(3)? {
            history.current = Some(given);
        } else {
            history.past.push(PastState {
                key: found.get(0)?,
                given,
                learned: row::learned_text(found, 13)?,
            });
        }
    }
    Ok(histories)
}

/// Writes a change of the history of a deleted trace.
pub(super) async fn write(db: &Db<'_>, change: &TraceChange) -> Result<(), Fault> {
    if change.outcome != Outcome::Stays {
        db.execute(
            "DELETE FROM deleted_review WHERE trace = $1 AND is_current",
            params![change.trace],
        )
        .await?;
    }
    if let Outcome::Restored(state) | Outcome::Requeued(state) = change.outcome {
        db.execute(
            "UPDATE deleted_review SET is_current = true WHERE key = $1",
            params![state],
        )
        .await?;
    }
    for state in &change.forget {
        db.execute("DELETE FROM deleted_review WHERE key = $1", params![state])
            .await?;
    }
    Ok(())
}
