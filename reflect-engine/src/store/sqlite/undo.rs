//! The rows that an undo reads and writes.

use std::collections::BTreeSet;

use jiff::Timestamp;
use reflect_types::{KeyId, MemoryId, ProjectId, TraceId, UndoCounts, UndoRecord, UndoReport};
use rusqlite::{Connection, Row, params};

use super::fault::Fault;
use super::{
    events, jobs, memories, memory_changes, projects, reviews, row, tending, undo_records,
};
use crate::clock;
use crate::review::{
    self, GivenReview, LearnedText, MemoryState, Outcome, PastReview, PastState, ReviewHistory,
    Selection, TaughtMemory, TaughtProject, TraceChange, TraceState, UndoChanges,
};
use crate::store::{JobKind, MemoryKey, NewUndo};

pub(super) fn undo(
    db: &Connection,
    project: &ProjectId,
    undo: &NewUndo,
) -> Result<UndoReport, Fault> {
    let (selection, dry_run) = (&undo.selection, undo.request.dry_run);
    let Some(project) = projects::key(db, project)? else {
        return Ok(UndoReport {
            dry_run,
            ..UndoReport::default()
        });
    };
    let mut changes = review::undo(load(db, project, selection)?, selection);
    if !dry_run && changes != UndoChanges::default() {
        write(db, project, &changes, undo.at)?;
        let record = UndoRecord {
            id: undo.id.clone(),
            key_id: undo.key_id.clone(),
            created_at: clock::text(undo.at),
            request: undo.request.clone(),
            counts: UndoCounts::from(&changes.report),
        };
        undo_records::insert(db, project, &record)?;
    }
    changes.report.dry_run = dry_run;
    Ok(changes.report)
}

fn load(db: &Connection, project: i64, selection: &Selection) -> Result<TaughtProject, Fault> {
    let traces = histories(db, project, selection)?;
    let memories = taught_memories(db, project, selection, &traces)?;
    let skill_sources = db
        .prepare_cached("SELECT sources FROM skill WHERE project = ?1")?
        .query([project])?
        .next()?
        .map_or_else(|| Ok(Vec::new()), |found| row::json(found, 0))?;
    Ok(TaughtProject {
        traces,
        memories,
        skill_sources,
    })
}

fn histories(
    db: &Connection,
    project: i64,
    selection: &Selection,
) -> Result<Vec<ReviewHistory>, Fault> {
    let mut select = db.prepare_cached(
        "SELECT t.key, t.id, r.key_id, r.reviewer_model, r.created_at, r.id, r.verdict, r.alpha, \
             iif(t.ingest_status = 'completed', t.created_memory, NULL) \
         FROM trace t LEFT JOIN review r ON r.trace = t.key \
         WHERE t.project = ?1 AND (?3 IS NULL OR t.id = ?3) AND ( \
             (r.trace IS NOT NULL AND (?2 IS NULL OR r.key_id = ?2)) \
             OR EXISTS (SELECT 1 FROM past_review p WHERE p.trace = t.key \
                 AND (?2 IS NULL OR p.key_id = ?2))) \
         ORDER BY t.key",
    )?;
    let key = selection.key_id.as_ref().map(KeyId::as_str);
    let trace = selection.trace_id.as_ref().map(TraceId::as_str);
    let mut rows = select.query(params![project, key, trace])?;
    let mut histories = Vec::new();
    while let Some(found) = rows.next()? {
        let trace = found.get(0)?;
        let current = match found.get::<_, Option<String>>(5)? {
            Some(_) => Some(given(found, 2)?),
            None => None,
        };
        histories.push(ReviewHistory {
            trace,
            trace_id: TraceId::new(found.get::<_, String>(1)?),
            past: past(db, trace)?,
            current,
        });
    }
    Ok(histories)
}

fn past(db: &Connection, trace: i64) -> Result<Vec<PastState>, Fault> {
    let mut select = db.prepare_cached(
        "SELECT key, key_id, reviewer_model, created_at, id, verdict, alpha, memory_id, generation, \
             learned FROM past_review WHERE trace = ?1 ORDER BY key",
    )?;
    let mut rows = select.query([trace])?;
    let mut states = Vec::new();
    while let Some(found) = rows.next()? {
        let learned = match found.get::<_, Option<String>>(9)? {
            Some(_) => Some(LearnedText {
                reflection: row::json(found, 9)?,
                generation: found.get(8)?,
            }),
            None => None,
        };
        states.push(PastState {
            key: found.get(0)?,
            given: given(found, 1)?,
            learned,
        });
    }
    Ok(states)
}

/// A review, or a withdrawal, in the columns of `key_id, reviewer_model, created_at, id, verdict,
/// alpha` and its memory.
fn given(found: &Row<'_>, column: usize) -> Result<GivenReview, Fault> {
    let review = match found.get(column + 3)? {
        Some(id) => Some(PastReview {
            id,
            verdict: row::verdict(found, column + 4)?,
            alpha: found.get(column + 5)?,
            memory: found
                .get::<_, Option<String>>(column + 6)?
                .map(MemoryId::new),
        }),
        None => None,
    };
    Ok(GivenReview {
        teacher: row::teacher(found, column)?,
        at: row::time(found, column + 2)?,
        review,
    })
}

fn taught_memories(
    db: &Connection,
    project: i64,
    selection: &Selection,
    traces: &[ReviewHistory],
) -> Result<Vec<TaughtMemory>, Fault> {
    let key = selection.key_id.as_ref().map(KeyId::as_str);
    let mut keys: BTreeSet<MemoryKey> = db
        .prepare_cached(
            "SELECT key FROM memory WHERE project = ?1 AND (?2 IS NULL OR key_id = ?2) UNION \
             SELECT e.memory FROM utility_event e JOIN memory m ON m.key = e.memory \
             WHERE m.project = ?1 AND (?2 IS NULL OR e.key_id = ?2) UNION \
             SELECT m.key FROM memory_change c JOIN memory m \
                 ON m.project = c.project AND m.id = c.memory_id \
             WHERE c.project = ?1 AND c.closed = 0 AND (?2 IS NULL OR c.key_id = ?2)",
        )?
        .query_map(params![project, key], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let mut moved = db.prepare_cached(
        "SELECT e.memory FROM utility_event e JOIN memory m ON m.key = e.memory \
         WHERE e.review_id = ?1 AND m.project = ?2",
    )?;
    for history in traces {
        let states = history.past.iter().map(|state| &state.given);
        let reviews = states.chain(&history.current);
        for review in reviews.filter_map(|given| given.review.as_ref()) {
            let found = moved.query_map(params![review.id, project], |row| row.get(0))?;
            for memory in found {
                keys.insert(memory?);
            }
            if let Some(id) = &review.memory {
                keys.extend(memories::key_of(db, project, id)?);
            }
        }
    }
    keys.into_iter().map(|key| taught_memory(db, key)).collect()
}

fn taught_memory(db: &Connection, key: MemoryKey) -> Result<TaughtMemory, Fault> {
    let mut select = db.prepare_cached(
        "SELECT id, trace_id, task, q, status = 'withdrawn', key_id, reviewer_model, created_at, \
             reflection, generation, iif(status = 'withdrawn', 'active', status) \
         FROM memory WHERE key = ?1",
    )?;
    let mut rows = select.query([key])?;
    let Some(found) = rows.next()? else {
        return Err(Fault::Data(format!("memory {key} is gone")));
    };
    Ok(TaughtMemory {
        key,
        id: MemoryId::new(found.get::<_, String>(0)?),
        trace_id: TraceId::new(found.get::<_, String>(1)?),
        task: found.get(2)?,
        q: found.get(3)?,
        withdrawn: found.get(4)?,
        teacher: row::teacher(found, 5)?,
        at: row::time(found, 7)?,
        state: MemoryState {
            reflection: row::json(found, 8)?,
            status: row::memory_status(found, 10)?,
        },
        generation: found.get(9)?,
        changes: memory_changes::recorded(db, key)?,
        events: events::taught(db, key)?,
    })
}

fn write(
    db: &Connection,
    project: i64,
    changes: &UndoChanges,
    now: Timestamp,
) -> Result<(), Fault> {
    for id in &changes.removed {
        memories::remove(db, project, id)?;
    }
    for (state, id) in &changes.contents {
        memories::restore(db, project, id, *state)?;
    }
    for state in &changes.states {
        tending::restate(db, project, state)?;
    }
    for utility in &changes.utilities {
        // An undo appends no event, so none needs a trace.
        reviews::write_utility(db, project, "", utility)?;
    }
    for change in &changes.traces {
        write_trace(db, change, now)?;
    }
    if changes.removes_skill {
        db.prepare_cached("DELETE FROM skill WHERE project = ?1")?
            .execute([project])?;
    }
    Ok(())
}

fn write_trace(db: &Connection, change: &TraceChange, now: Timestamp) -> Result<(), Fault> {
    let trace = change.trace;
    match change.outcome {
        Outcome::Stays => {}
        Outcome::Unreviewed => {
            remove_review(db, trace)?;
            reviews::write_trace(db, trace, &TraceState::default())?;
            jobs::park(db, JobKind::Judgement, trace)?;
        }
        Outcome::Restored(state) => {
            remove_review(db, trace)?;
            put_back(db, trace, state)?;
            db.prepare_cached(
                "UPDATE trace SET reviewed = 1, ingest_status = 'completed', \
                     last_ingest_error = NULL, created_memory = \
                         (SELECT memory_id FROM past_review WHERE key = ?2) WHERE key = ?1",
            )?
            .execute([trace, state])?;
        }
        Outcome::Requeued(state) => {
            remove_review(db, trace)?;
            put_back(db, trace, state)?;
            reviews::write_trace(
                db,
                trace,
                &TraceState {
                    ingest_status: reflect_types::IngestStatus::Queued,
                    ..TraceState::default()
                },
            )?;
            jobs::queue(db, JobKind::Reflection, trace, now)?;
        }
    }
    let mut forget = db.prepare_cached("DELETE FROM past_review WHERE key = ?1")?;
    for state in &change.forget {
        forget.execute([state])?;
    }
    Ok(())
}

/// Deletes the review of a trace, and the work on it.
fn remove_review(db: &Connection, trace: i64) -> Result<(), Fault> {
    db.prepare_cached("DELETE FROM review WHERE trace = ?1")?
        .execute([trace])?;
    db.prepare_cached("DELETE FROM queue WHERE trace = ?1")?
        .execute([trace])?;
    Ok(())
}

/// Makes a past state the review of its trace again.
fn put_back(db: &Connection, trace: i64, state: i64) -> Result<(), Fault> {
    db.prepare_cached(
        "INSERT INTO review (trace, id, verdict, feedback, alpha, reflection, mode, created_at, \
             reviewer_model, key_id, overruled_model, overruled_verdict) \
         SELECT trace, id, verdict, feedback, alpha, reflection, mode, created_at, reviewer_model, \
             key_id, overruled_model, overruled_verdict \
         FROM past_review WHERE key = ?2 AND trace = ?1",
    )?
    .execute([trace, state])?;
    Ok(())
}
