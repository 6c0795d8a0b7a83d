//! The rows that a review's decision reads and writes.

use std::collections::HashSet;

use reflect_types::{KeyId, MemoryId, ProjectId, TraceId};
use rusqlite::{Connection, named_params, params};

use super::fault::Fault;
use super::{events, jobs, memories, row, undone};
use crate::clock;
use crate::review::{
    self, Action, AffectedMemories, Decision, EventWrite, GivenMemory, JobState, JobWrite,
    MemoryWrite, MovedMemory, NewReview, PastWrite, ReviewVersion, ReviewWrite, Standing,
    TraceState, Utility, UtilityWrite, Withdrawal, Writes,
};
use crate::store::JobKind;

/// Where a trace is stored.
pub(super) struct TraceRow {
    pub(super) key: i64,
    pub(super) project: i64,
    pub(super) id: TraceId,
}

pub(super) fn review(
    db: &Connection,
    project: &ProjectId,
    id: &TraceId,
    action: &Action,
) -> Result<Decision, Fault> {
    let (row, standing) = load(db, project, id)?.unzip();
    let changes = match review::decide(standing, action.clone()) {
        Ok(changes) => changes,
        Err(refusal) => return Ok(Err(refusal)),
    };
    if let Some(row) = row {
        write(db, &row, &changes)?;
    }
    Ok(Ok(()))
}

fn load(
    db: &Connection,
    project: &ProjectId,
    id: &TraceId,
) -> Result<Option<(TraceRow, Standing)>, Fault> {
    let mut select = db.prepare_cached(
        "SELECT t.key, t.project, t.retrieved, t.reviewed, t.ingest_status, \
             iif(j.owner IS NULL, t.ingest_attempts, j.attempts), t.last_ingest_error, t.created_memory, t.ignored, t.withdrawn_model, \
             t.withdrawn_verdict, r.id, r.verdict, r.feedback, r.reviewer_model, \
             r.overruled_model, r.overruled_verdict, j.trace IS NOT NULL, j.owner, m.key \
         FROM trace t JOIN project p ON p.key = t.project \
             LEFT JOIN review r ON r.trace = t.key \
             LEFT JOIN queue j ON j.trace = t.key AND j.kind = 'reflection' \
             LEFT JOIN memory m ON m.project = t.project AND m.id = t.created_memory \
         WHERE t.id = ?1 AND p.id = ?2",
    )?;
    let mut rows = select.query([id.as_str(), project.as_str()])?;
    let Some(found) = rows.next()? else {
        return Ok(None);
    };
    let row = TraceRow {
        key: found.get(0)?,
        project: found.get(1)?,
        id: id.clone(),
    };
    let trace = TraceState {
        reviewed: found.get(3)?,
        ingest_status: row::name(found, 4)?,
        ingest_attempts: found.get(5)?,
        last_ingest_error: found.get(6)?,
        created_memory: found.get::<_, Option<String>>(7)?.map(MemoryId::new),
        ignored: row::json(found, 8)?,
        withdrawn_verdict: row::model_verdict(found, 9)?,
    };
    let review = match found.get(11)? {
        Some(id) => Some(ReviewVersion {
            id,
            verdict: row::verdict(found, 12)?,
            feedback: found.get(13)?,
            reviewer: row::reviewer(found, 14)?,
            overruled: row::model_verdict(found, 15)?,
        }),
        None => None,
    };
    let job = if found.get(17)? {
        let owner = found.get(18)?;
        Some(JobState { owner })
    } else {
        None
    };
    let memories = match &review {
        Some(review) if trace.reviewed => {
            AffectedMemories::Moved(moved(db, row.project, &review.id)?)
        }
        _ => AffectedMemories::Given(given(db, row.project, row::json(found, 2)?)?),
    };
    let undone = undone::of_trace(db, row.project, id)?;
    let standing = Standing {
        trace,
        review,
        job,
        memory: found.get(19)?,
        memories,
        undone,
    };
    Ok(Some((row, standing)))
}

/// The memories that a trace was given, each once, with their utilities.
pub(super) fn given(
    db: &Connection,
    project: i64,
    ids: Vec<MemoryId>,
) -> Result<Vec<GivenMemory>, Fault> {
    let mut select = db.prepare_cached(
        "SELECT key, q, uses, status = 'withdrawn' FROM memory WHERE id = ?1 AND project = ?2",
    )?;
    let (mut given, mut seen) = (Vec::new(), HashSet::new());
    for id in ids {
        if !seen.insert(id.clone()) {
            continue;
        }
        let mut rows = select.query(params![id.as_str(), project])?;
        let utility = match rows.next()? {
            Some(found) => Some(Utility {
                memory: found.get(0)?,
                q: found.get(1)?,
                uses: row::count(found, 2)?,
                withdrawn: found.get(3)?,
            }),
            None => None,
        };
        given.push(GivenMemory { id, utility });
    }
    Ok(given)
}

/// The project's memories with an event of this review. Other projects may have the same review:
/// an import keeps the ids.
fn moved(db: &Connection, project: i64, review: &str) -> Result<Vec<MovedMemory>, Fault> {
    let mut select = db.prepare_cached(
        "SELECT DISTINCT e.memory FROM utility_event e JOIN memory m ON m.key = e.memory \
         WHERE e.review_id = ?1 AND e.aside = 0 AND m.project = ?2",
    )?;
    let keys = select.query_map(params![review, project], |row| row.get(0))?;
    let mut moved = Vec::new();
    for memory in keys {
        let memory = memory?;
        let events = events::recorded(db, memory)?;
        moved.push(MovedMemory { memory, events });
    }
    Ok(moved)
}

/// Writes what was decided about a trace.
pub(super) fn write(db: &Connection, row: &TraceRow, changes: &Writes) -> Result<(), Fault> {
    match &changes.past {
        PastWrite::Keep => {}
        PastWrite::Replaced => keep_past(db, row.key)?,
        PastWrite::Withdrawn(withdrawal) => {
            keep_past(db, row.key)?;
            keep_withdrawal(db, row.key, withdrawal)?;
        }
    }
    for utility in &changes.utilities {
        write_utility(db, row.project, row.id.as_str(), utility)?;
    }
    match &changes.memory {
        MemoryWrite::Keep => {}
        MemoryWrite::Insert {
            memory,
            success,
            alpha,
            teacher,
        } => memories::insert(db, row.project, row.key, memory, *success, *alpha, teacher)?,
        MemoryWrite::Rewrite {
            key,
            memory,
            success,
            alpha,
            teacher,
        } => memories::rewrite(db, row.project, *key, memory, *success, *alpha, teacher)?,
        MemoryWrite::Withdraw(id) => memories::withdraw(db, row.project, id)?,
    }
    match &changes.review {
        ReviewWrite::Keep => {}
        ReviewWrite::Put(review) => put(db, row.key, review)?,
        ReviewWrite::Remove => remove(db, row.key)?,
    }
    match changes.job {
        JobWrite::Keep => {}
        JobWrite::Queue { due, attempts } => {
            jobs::queue(db, JobKind::Reflection, row.key, due, attempts)?;
        }
        JobWrite::Remove => jobs::remove(db, JobKind::Reflection, row.key)?,
    }
    if changes.ends_judgement {
        jobs::remove(db, JobKind::Judgement, row.key)?;
    }
    write_trace(db, row.key, &changes.trace)
}

/// Appends the review of a trace to its history, with what was learned from it, without edits. The
/// memory holds its content only when the work on it is done. A memory that was deleted since is
/// named, without content.
fn keep_past(db: &Connection, trace: i64) -> Result<(), Fault> {
    db.prepare_cached(
        "INSERT INTO past_review (trace, key_id, reviewer_model, created_at, id, verdict, feedback, \
             alpha, reflection, mode, overruled_model, overruled_verdict, memory_id, learned, \
             generation) \
         SELECT t.key, r.key_id, r.reviewer_model, r.created_at, r.id, r.verdict, r.feedback, r.alpha, \
             r.reflection, r.mode, r.overruled_model, r.overruled_verdict, \
             iif(t.reviewed = 1 AND t.ingest_status = 'completed', t.created_memory, NULL), \
             coalesce((SELECT c.before FROM memory_change c WHERE c.project = m.project \
                 AND c.memory_id = m.id AND c.kind = 'edited' AND c.closed = 0 \
                 AND c.generation >= m.generation ORDER BY c.key LIMIT 1), m.reflection), \
             coalesce(m.generation, 0) \
         FROM trace t JOIN review r ON r.trace = t.key \
             LEFT JOIN memory m ON m.project = t.project AND m.id = t.created_memory \
                 AND t.reviewed = 1 AND t.ingest_status = 'completed' \
         WHERE t.key = ?1",
    )?
    .execute([trace])?;
    Ok(())
}

fn keep_withdrawal(db: &Connection, trace: i64, by: &Withdrawal) -> Result<(), Fault> {
    db.prepare_cached("INSERT INTO past_review (trace, key_id, created_at) VALUES (?1, ?2, ?3)")?
        .execute(params![
            trace,
            by.key_id.as_ref().map(KeyId::as_str),
            clock::text(by.at),
        ])?;
    Ok(())
}

pub(super) fn write_trace(db: &Connection, key: i64, trace: &TraceState) -> Result<(), Fault> {
    db.prepare_cached(
        "UPDATE trace SET reviewed = :reviewed, ingest_status = :status, \
             ingest_attempts = :attempts, last_ingest_error = :error, created_memory = :memory, \
             ignored = :ignored, withdrawn_model = :withdrawn_model, \
             withdrawn_verdict = :withdrawn_verdict WHERE key = :key",
    )?
    .execute(named_params! {
        ":key": key,
        ":reviewed": trace.reviewed,
        ":status": trace.ingest_status.as_str(),
        ":attempts": trace.ingest_attempts,
        ":error": trace.last_ingest_error,
        ":memory": trace.created_memory.as_ref().map(MemoryId::as_str),
        ":ignored": row::to_json(&trace.ignored)?,
        ":withdrawn_model": trace.withdrawn_verdict.as_ref().map(|verdict| &verdict.model),
        ":withdrawn_verdict": trace.withdrawn_verdict.as_ref().map(|verdict| verdict.result.as_str()),
    })?;
    Ok(())
}

/// Writes the utility of a memory; new events are of this trace.
pub(super) fn write_utility(
    db: &Connection,
    project: i64,
    trace: &str,
    write: &UtilityWrite,
) -> Result<(), Fault> {
    for event in &write.events {
        match event {
            EventWrite::Append(event) => db
                .prepare_cached(
                    "INSERT INTO utility_event (memory, trace_id, review_id, alpha, reward, before, \
                         after, created_at, key_id, reviewer_model) \
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                )?
                .execute(params![
                    write.memory,
                    trace,
                    event.review_id,
                    event.change.alpha,
                    event.change.reward,
                    event.step.before,
                    event.step.after,
                    clock::text(event.created_at),
                    event.teacher.key_id.as_ref().map(KeyId::as_str),
                    event.teacher.reviewer.model_name(),
                ])?,
            EventWrite::Update {
                key,
                change,
                step,
                teacher,
            } => {
                if let Some(teacher) = teacher {
                    db.prepare_cached(
                        "UPDATE utility_event SET key_id = ?2, reviewer_model = ?3 WHERE key = ?1",
                    )?
                    .execute(params![
                        key,
                        teacher.key_id.as_ref().map(KeyId::as_str),
                        teacher.reviewer.model_name(),
                    ])?;
                }
                db.prepare_cached(
                    "UPDATE utility_event SET alpha = ?2, reward = ?3, before = ?4, after = ?5, \
                         aside = 0 WHERE key = ?1",
                )?
                .execute(params![
                    key,
                    change.alpha,
                    change.reward,
                    step.before,
                    step.after
                ])?
            }
            EventWrite::SetAside(key) => db
                .prepare_cached("UPDATE utility_event SET aside = 1 WHERE key = ?1")?
                .execute([key])?,
            EventWrite::Remove(key) => db
                .prepare_cached("DELETE FROM utility_event WHERE key = ?1")?
                .execute([key])?,
        };
    }
    memories::set_utility(db, project, write.memory, write.q, write.uses)
}

fn remove(db: &Connection, trace: i64) -> Result<(), Fault> {
    db.prepare_cached("DELETE FROM review WHERE trace = ?1")?
        .execute([trace])?;
    Ok(())
}

/// Inserts a review, or replaces the one the trace has.
pub(super) fn put(db: &Connection, trace: i64, review: &NewReview) -> Result<(), Fault> {
    remove(db, trace)?;
    insert(db, trace, review)
}

/// Inserts the review of a trace that has none.
pub(super) fn insert(db: &Connection, trace: i64, review: &NewReview) -> Result<(), Fault> {
    let reflection = review.reflection.as_ref().map(row::to_json).transpose()?;
    db.prepare_cached(
        "INSERT INTO review \
             (trace, id, verdict, feedback, alpha, reflection, mode, created_at, reviewer_model, \
             key_id, overruled_model, overruled_verdict) \
         VALUES (:trace, :id, :verdict, :feedback, :alpha, :reflection, :mode, :created_at, \
             :reviewer_model, :key_id, :overruled_model, :overruled_verdict)",
    )?
    .execute(named_params! {
        ":trace": trace,
        ":id": review.id,
        ":verdict": review.verdict.as_str(),
        ":feedback": review.feedback,
        ":alpha": review.alpha,
        ":reflection": reflection,
        ":mode": review.mode.as_str(),
        ":created_at": clock::text(review.created_at),
        ":reviewer_model": review.reviewer.model_name(),
        ":key_id": review.key_id.as_ref().map(KeyId::as_str),
        ":overruled_model": review.overruled.as_ref().map(|verdict| &verdict.model),
        ":overruled_verdict": review.overruled.as_ref().map(|verdict| verdict.result.as_str()),
    })?;
    Ok(())
}
