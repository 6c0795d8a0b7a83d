//! The reviews of deleted traces.

use reflect_types::{KeyId, TraceId};
use rusqlite::{Connection, params};

use super::fault::Fault;
use super::row;
use crate::review::{Outcome, PastState, ReviewHistory, Selection, TraceChange};

/// Keeps the reviews of a trace that is about to be deleted, without their texts.
pub(super) fn keep(db: &Connection, trace: i64) -> Result<(), Fault> {
    db.prepare_cached(
        "INSERT INTO deleted_review (project, trace, trace_id, is_current, key_id, reviewer_model, \
             created_at, id, verdict, alpha, memory_id, learned, generation) \
         SELECT t.project, t.key, t.id, 0, p.key_id, p.reviewer_model, p.created_at, p.id, p.verdict, \
             p.alpha, p.memory_id, p.learned, p.generation \
         FROM past_review p JOIN trace t ON t.key = p.trace WHERE t.key = ?1 ORDER BY p.key",
    )?
    .execute([trace])?;
    db.prepare_cached(
        "INSERT INTO deleted_review (project, trace, trace_id, is_current, key_id, reviewer_model, \
             created_at, id, verdict, alpha, memory_id, generation) \
         SELECT t.project, t.key, t.id, 1, r.key_id, r.reviewer_model, r.created_at, r.id, r.verdict, \
             r.alpha, iif(t.ingest_status = 'completed', t.created_memory, NULL), 0 \
         FROM review r JOIN trace t ON t.key = r.trace WHERE t.key = ?1",
    )?
    .execute([trace])?;
    Ok(())
}

/// The histories of deleted traces that a selection may cover.
pub(super) fn histories(
    db: &Connection,
    project: i64,
    selection: &Selection,
) -> Result<Vec<ReviewHistory>, Fault> {
    let mut select = db.prepare_cached(
        "SELECT key, trace, trace_id, is_current, key_id, reviewer_model, created_at, id, verdict, \
             alpha, NULL, NULL, memory_id, generation, learned \
         FROM deleted_review WHERE project = ?1 AND trace IN ( \
             SELECT trace FROM deleted_review WHERE project = ?1 \
                 AND (?2 IS NULL OR key_id = ?2) AND (?3 IS NULL OR trace_id = ?3)) \
         ORDER BY trace, key",
    )?;
    let key = selection.key_id.as_ref().map(KeyId::as_str);
    let trace = selection.trace_id.as_ref().map(TraceId::as_str);
    let mut rows = select.query(params![project, key, trace])?;
    let mut histories: Vec<ReviewHistory> = Vec::new();
    while let Some(found) = rows.next()? {
        let trace: i64 = found.get(1)?;
        if histories.last().is_none_or(|last| last.trace != trace) {
            histories.push(ReviewHistory {
                trace,
                trace_id: TraceId::new(found.get::<_, String>(2)?),
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
pub(super) fn write(db: &Connection, change: &TraceChange) -> Result<(), Fault> {
    if change.outcome != Outcome::Stays {
        db.prepare_cached("DELETE FROM deleted_review WHERE trace = ?1 AND is_current = 1")?
            .execute([change.trace])?;
    }
    if let Outcome::Restored(state) | Outcome::Requeued(state) = change.outcome {
        db.prepare_cached("UPDATE deleted_review SET is_current = 1 WHERE key = ?1")?
            .execute([state])?;
    }
    let mut forget = db.prepare_cached("DELETE FROM deleted_review WHERE key = ?1")?;
    for state in &change.forget {
        forget.execute([state])?;
    }
    Ok(())
}
