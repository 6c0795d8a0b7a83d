//! The rows that an undo reads and writes.

use std::collections::BTreeSet;

use jiff::Timestamp;
use reflect_types::{IngestStatus, KeyId, MemoryId, ProjectId, TraceId, UndoReport};
use rusqlite::{Connection, params};

use super::fault::Fault;
use super::{
    deleted_reviews, events, jobs, memories, memory_changes, memory_edits, projects, reviews, row,
    skills, undo_records, undone,
};
use crate::error::Error;
use crate::review::{
    self, MemoryLink, MemoryState, Outcome, PastState, ReviewHistory, Selection, TaughtMemory,
    TaughtProject, TraceChange, UndoChanges, WithdrawnVerdict,
};
use crate::store::{JobKind, MemoryKey, UndoRun};

pub(super) fn undo(
    db: &Connection,
    project: &ProjectId,
    selection: &Selection,
    run: &UndoRun,
    now: Timestamp,
) -> Result<UndoReport, Fault> {
    let project = projects::key(db, project)?;
    let taught = match project {
        Some(project) => load(db, project, selection)?,
        None => TaughtProject::default(),
    };
    let mut changes = review::undo(taught, selection);
    match (run, project) {
        (UndoRun::Dry, _) => {
            changes.report.dry_run = true;
            changes.report.digest = Some(changes.digest());
        }
        (
            UndoRun::Real {
                expect: Some(digest),
                ..
            },
            _,
        ) if *digest != changes.digest() => {
            let problem = "the changes of this undo are no longer those that were shown: preview it again. \
                 Revoke the key first if it is still in use";
            return Err(Error::Conflict(problem.to_owned()).into());
        }
        (UndoRun::Real { record, .. }, Some(project)) => {
            write(db, project, &changes, now)?;
            undone::record(db, project, selection, now)?;
            if let (Some(new), false) = (record, changes == UndoChanges::default()) {
                undo_records::insert(db, project, &new.record(&changes.report, now))?;
            }
        }
        (UndoRun::Real { .. }, None) => {}
    }
    Ok(changes.report)
}

fn load(db: &Connection, project: i64, selection: &Selection) -> Result<TaughtProject, Fault> {
    let mut traces = histories(db, project, selection)?;
    traces.extend(deleted_reviews::histories(db, project, selection)?);
    let memories = taught_memories(db, project, selection, &traces)?;
    let (skill_sources, skill_is_stale) = skills::sources(db, project)?;
    let unjudged = match selection.silenced_key() {
        Some(key) => jobs::unjudged(db, project, key, selection.trace_id.as_ref())?,
        None => Vec::new(),
    };
    Ok(TaughtProject {
        traces,
        memories,
        skill_sources,
        skill_is_stale,
        unjudged,
    })
}

fn histories(
    db: &Connection,
    project: i64,
    selection: &Selection,
) -> Result<Vec<ReviewHistory>, Fault> {
    let mut select = db.prepare_cached(
        "SELECT t.key, t.id, r.key_id, r.reviewer_model, r.created_at, r.id, r.verdict, r.alpha, \
             r.overruled_model, r.overruled_verdict, \
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
            Some(_) => Some(row::given_review(found, 2)?),
            None => None,
        };
        histories.push(ReviewHistory {
            trace,
            trace_id: TraceId::new(found.get::<_, String>(1)?),
            deleted: false,
            past: past(db, trace)?,
            current,
        });
    }
    Ok(histories)
}

fn past(db: &Connection, trace: i64) -> Result<Vec<PastState>, Fault> {
    let mut select = db.prepare_cached(
        "SELECT key, key_id, reviewer_model, created_at, id, verdict, alpha, overruled_model, \
             overruled_verdict, memory_id, generation, learned \
         FROM past_review WHERE trace = ?1 ORDER BY key",
    )?;
    let mut rows = select.query([trace])?;
    let mut states = Vec::new();
    while let Some(found) = rows.next()? {
        states.push(PastState {
            key: found.get(0)?,
            given: row::given_review(found, 1)?,
            learned: row::learned_text(found, 10)?,
        });
    }
    Ok(states)
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
            status: row::name(found, 10)?,
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
    for (id, content) in &changes.contents {
        memories::restore(db, project, id, content)?;
    }
    for state in &changes.states {
        memory_edits::restore_state(db, project, state)?;
    }
    for utility in &changes.utilities {
        // An undo appends no event, so none needs a trace.
        reviews::write_utility(db, project, "", utility)?;
    }
    for change in &changes.traces {
        if change.deleted {
            deleted_reviews::write(db, change)?;
        } else {
            write_trace(db, change, now)?;
        }
    }
    for trace in &changes.unjudged {
        jobs::park(db, JobKind::Judgement, *trace)?;
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
            set_status(db, trace, &IngestStatus::Completed)?;
            jobs::park(db, JobKind::Judgement, trace)?;
        }
        Outcome::Restored(state) => {
            remove_review(db, trace)?;
            put_back(db, trace, state)?;
            set_status(db, trace, &IngestStatus::Completed)?;
        }
        Outcome::Requeued(state) => {
            remove_review(db, trace)?;
            put_back(db, trace, state)?;
            set_status(db, trace, &IngestStatus::Queued)?;
            jobs::queue(db, JobKind::Reflection, trace, now, 0)?;
        }
    }
    match &change.memory {
        MemoryLink::Keep => {}
        MemoryLink::Set(memory) => {
            db.prepare_cached("UPDATE trace SET reviewed = 1, created_memory = ?2 WHERE key = ?1")?
                .execute(params![trace, memory.as_str()])?;
        }
        MemoryLink::Clear => {
            db.prepare_cached(
                "UPDATE trace SET reviewed = 0, created_memory = NULL, ignored = '[]' \
                 WHERE key = ?1",
            )?
            .execute([trace])?;
        }
    }
    if let Some(WithdrawnVerdict(verdict)) = &change.withdrawn_verdict {
        db.prepare_cached(
            "UPDATE trace SET withdrawn_model = ?2, withdrawn_verdict = ?3 WHERE key = ?1",
        )?
        .execute(params![
            trace,
            verdict.as_ref().map(|verdict| &verdict.model),
            verdict.as_ref().map(|verdict| verdict.result.as_str()),
        ])?;
    }
    let mut forget = db.prepare_cached("DELETE FROM past_review WHERE key = ?1")?;
    for state in &change.forget {
        forget.execute([state])?;
    }
    Ok(())
}

/// Starts the work on a trace's review over.
fn set_status(db: &Connection, trace: i64, status: &IngestStatus) -> Result<(), Fault> {
    db.prepare_cached(
        "UPDATE trace SET ingest_status = ?2, ingest_attempts = 0, last_ingest_error = NULL \
         WHERE key = ?1",
    )?
    .execute(params![trace, status.as_str()])?;
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
    db.prepare_cached("DELETE FROM past_review WHERE key = ?1")?
        .execute([state])?;
    Ok(())
}
