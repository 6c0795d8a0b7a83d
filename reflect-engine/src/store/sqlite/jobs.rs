//! The queue of jobs.

use jiff::Timestamp;
use reflect_types::{KeyId, ProjectId, TraceId};
use rusqlite::{Connection, OptionalExtension, params};

use super::fault::Fault;
use super::row;
use crate::review::{Decision, NextAttempt, Refusal, Setback};
use crate::store::{ClaimedJob, Claims, JobKey, JobKind, Lease, Subject};

/// When the next job of a kind can be claimed.
pub(super) fn next_due(db: &Connection, kind: JobKind) -> Result<Option<Timestamp>, Fault> {
    let due: Option<i64> = db
        .prepare_cached("SELECT min(due_at) FROM queue WHERE kind = ?1")?
        .query_row([kind.as_str()], |row| row.get(0))?;
    Ok(due.map(row::milliseconds).transpose()?)
}

/// Queues a job of a trace, which replaces one of the same kind: who works on that one no longer holds it.
pub(super) fn queue(
    db: &Connection,
    kind: JobKind,
    trace: i64,
    due: Timestamp,
    attempts: u32,
) -> Result<(), Fault> {
    remove(db, kind, trace)?;
    add(db, kind, trace, due, attempts)
}

/// Queues a job of a trace that has none of this kind.
pub(super) fn add(
    db: &Connection,
    kind: JobKind,
    trace: i64,
    due: Timestamp,
    attempts: u32,
) -> Result<(), Fault> {
    db.prepare_cached("INSERT INTO queue (kind, trace, due_at, attempts) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![
            kind.as_str(),
            trace,
            due.as_millisecond(),
            attempts
        ])?;
    Ok(())
}

/// Removes the job of a trace, held or not.
pub(super) fn remove(db: &Connection, kind: JobKind, trace: i64) -> Result<(), Fault> {
    db.prepare_cached("DELETE FROM queue WHERE trace = ?1 AND kind = ?2")?
        .execute(params![trace, kind.as_str()])?;
    Ok(())
}

/// A claimed job that is not loaded yet.
pub(super) struct ClaimedRow {
    key: JobKey,
    trace: Option<i64>,
    attempts: u32,
}

/// Adds a parked job: the trace gets no other of this kind.
pub(super) fn park(db: &Connection, kind: JobKind, trace: i64) -> Result<(), Fault> {
    remove(db, kind, trace)?;
    db.prepare_cached("INSERT INTO queue (kind, trace) VALUES (?1, ?2)")?
        .execute(params![kind.as_str(), trace])?;
    Ok(())
}

/// Claims due jobs, oldest first. The rows of their traces are not written, because they are long:
/// [`row::STATUS`] tells from the queue that a trace is worked on.
pub(super) fn claim(
    db: &Connection,
    kind: JobKind,
    now: Timestamp,
    lease: &Lease,
    limit: usize,
) -> Result<Vec<ClaimedRow>, Fault> {
    let claimed = due(db, kind, now, limit)?;
    for claimed in &claimed {
        db.prepare_cached(
            "UPDATE queue SET owner = ?2, due_at = ?3, attempts = ?4 WHERE key = ?1",
        )?
        .execute(params![
            claimed.key,
            lease.owner,
            lease.until.as_millisecond(),
            claimed.attempts
        ])?;
        if kind == JobKind::Reflection {
            // One that failed and is tried again.
            db.prepare_cached(
                "UPDATE trace SET ingest_status = 'queued' \
                 WHERE key = ?1 AND ingest_status <> 'queued'",
            )?
            .execute([claimed.trace])?;
        }
    }
    Ok(claimed)
}

/// The jobs of the next claim. One whose lease has expired is claimed alone: it may have killed its
/// worker, and the attempt must not count for others.
fn due(
    db: &Connection,
    kind: JobKind,
    now: Timestamp,
    limit: usize,
) -> Result<Vec<ClaimedRow>, Fault> {
    let mut select = db.prepare_cached(
        "SELECT key, trace, attempts + 1, owner IS NOT NULL FROM queue \
         WHERE kind = ?1 AND trace IS NOT NULL AND due_at <= ?2 ORDER BY due_at, key LIMIT ?3",
    )?;
    let mut rows = select.query(params![
        kind.as_str(),
        now.as_millisecond(),
        row::limit(limit)
    ])?;
    let mut due = Vec::new();
    while let Some(row) = rows.next()? {
        let has_expired = row.get(3)?;
        if has_expired && !due.is_empty() {
            break;
        }
        due.push(ClaimedRow {
            key: row.get(0)?,
            trace: row.get(1)?,
            attempts: row.get(2)?,
        });
        if has_expired {
            break;
        }
    }
    Ok(due)
}

/// A job whose trace cannot be read.
pub(super) struct UnreadableJob {
    key: JobKey,
    why: String,
}

/// Loads claimed jobs, without those deleted since. Those that cannot be read are returned apart.
pub(super) fn load(
    db: &Connection,
    kind: JobKind,
    taken: &[ClaimedRow],
) -> Result<(Claims, Vec<UnreadableJob>), Fault> {
    let mut jobs = Vec::with_capacity(taken.len());
    let mut unreadable = Vec::new();
    for &ClaimedRow {
        key,
        trace,
        attempts,
    } in taken
    {
        match subject(db, kind, trace) {
            Ok(subject) => jobs.extend(subject.map(|subject| ClaimedJob {
                key,
                attempts,
                subject,
            })),
            Err(Fault::Data(why)) => unreadable.push(UnreadableJob { key, why }),
            Err(fault) => return Err(fault),
        }
    }
    let next_due = next_due(db, kind)?;
    Ok((Claims { jobs, next_due }, unreadable))
}

pub(super) fn give_up(
    db: &Connection,
    owner: &str,
    unreadable: &[UnreadableJob],
) -> Result<(), Fault> {
    for UnreadableJob { key, why } in unreadable {
        let setback = Setback {
            error: why.clone(),
            next: NextAttempt::Never,
            counts: true,
        };
        fail(db, owner, *key, &setback)?;
    }
    Ok(())
}

pub(super) fn renew(db: &Connection, lease: &Lease, key: JobKey) -> Result<bool, Fault> {
    let renewed = db
        .prepare_cached("UPDATE queue SET due_at = ?3 WHERE owner = ?1 AND key = ?2")?
        .execute(params![lease.owner, key, lease.until.as_millisecond()])?;
    Ok(renewed > 0)
}

/// Queues the job for its next attempt, or ends it, and keeps the error with the trace. A reflection
/// that ends can be retried, so its row goes; another job is parked, so that it is not queued again.
pub(super) fn fail(
    db: &Connection,
    owner: &str,
    key: JobKey,
    setback: &Setback,
) -> Result<(), Fault> {
    let due = setback.next.due().map(Timestamp::as_millisecond);
    let uncounted = i64::from(!setback.counts);
    let held = db
        .prepare_cached(
            "UPDATE queue SET owner = NULL, due_at = ?3, attempts = attempts - ?4, \
                 error = nullif(?5, '') \
             WHERE key = ?1 AND owner = ?2 RETURNING kind = 'reflection', trace, attempts",
        )?
        .query_row(params![key, owner, due, uncounted, setback.error], |row| {
            Ok((
                row.get::<_, bool>(0)?,
                row.get::<_, Option<i64>>(1)?,
                row.get::<_, u32>(2)?,
            ))
        })
        .optional()?;
    let Some((is_reflection, trace, attempts)) = held else {
        return Ok(());
    };
    if !is_reflection {
        // Without an error, the judge has answered and was not sure.
        let reason = if setback.error.is_empty() {
            "no verdict"
        } else {
            &setback.error
        };
        db.prepare_cached(
            "UPDATE trace SET last_ingest_error = ?2 \
             WHERE key = ?1 AND reviewed = 0 AND ingest_status = 'completed'",
        )?
        .execute(params![trace, reason])?;
        return Ok(());
    }
    if due.is_none() {
        db.prepare_cached("DELETE FROM queue WHERE key = ?1")?
            .execute([key])?;
    }
    db.prepare_cached(
        "UPDATE trace SET ingest_status = ?2, last_ingest_error = ?3, ingest_attempts = ?4 \
         WHERE key = ?1",
    )?
    .execute(params![
        trace,
        setback.next.status().as_str(),
        setback.error,
        attempts
    ])?;
    Ok(())
}

pub(super) fn finish(db: &Connection, owner: &str, key: JobKey) -> Result<(), Fault> {
    db.prepare_cached("DELETE FROM queue WHERE key = ?1 AND owner = ?2")?
        .execute(params![key, owner])?;
    Ok(())
}

pub(super) fn release(db: &Connection, owner: &str) -> Result<(), Fault> {
    db.prepare_cached(
        "UPDATE queue SET owner = NULL, due_at = 0, attempts = attempts - 1 \
         WHERE substr(owner, 1, length(?1)) = ?1",
    )?
    .execute([owner])?;
    Ok(())
}

pub(super) fn retry(
    db: &Connection,
    project: &ProjectId,
    id: &TraceId,
    now: Timestamp,
) -> Result<Decision, Fault> {
    let Some(trace) = row::trace_key(db, project, id)? else {
        return Ok(Err(Refusal::NoTrace));
    };
    let requeued = db
        .prepare_cached(
            "UPDATE trace SET ingest_status = 'queued', ingest_attempts = 0 \
             WHERE key = ?1 AND ingest_status = 'failed'",
        )?
        .execute([trace])?;
    if requeued == 0 {
        return Ok(Err(Refusal::NotFailed));
    }
    // A failed trace may have a job that is due much later.
    queue(db, JobKind::Reflection, trace, now, 0)?;
    Ok(Ok(()))
}

/// A trace that waits for a first review and has no judgement, not even a parked one. The verdict
/// of a model that was withdrawn leaves the trace to people.
const UNJUDGED: &str = "t.reviewed = 0 AND t.ingest_status = 'completed' \
     AND t.withdrawn_model IS NULL \
     AND NOT EXISTS (SELECT 1 FROM review r WHERE r.trace = t.key) \
     AND NOT EXISTS (SELECT 1 FROM queue j WHERE j.trace = t.key AND j.kind = 'judgement')";

/// The traces of a key that have no review, and that a judge may still review.
pub(super) fn unjudged(
    db: &Connection,
    project: i64,
    key: &KeyId,
    only: Option<&TraceId>,
) -> Result<Vec<i64>, Fault> {
    let mut select = db.prepare_cached(
        "SELECT t.key FROM trace t WHERE t.project = ?1 AND t.key_id = ?2 \
             AND (?3 IS NULL OR t.id = ?3) AND t.reviewed = 0 AND t.withdrawn_model IS NULL \
             AND NOT EXISTS (SELECT 1 FROM review r WHERE r.trace = t.key) \
             AND NOT EXISTS (SELECT 1 FROM queue j WHERE j.trace = t.key AND j.kind = 'judgement' \
                 AND j.due_at IS NULL AND j.error IS NULL) \
         ORDER BY t.key",
    )?;
    let only = only.map(TraceId::as_str);
    let traces = select.query_map(params![project, key.as_str(), only], |row| row.get(0))?;
    Ok(traces.collect::<rusqlite::Result<_>>()?)
}

/// A judgement that was given up because of an error.
const GIVEN_UP: &str = "kind = 'judgement' AND due_at IS NULL AND error IS NOT NULL";

pub(super) fn lacks_judgements(db: &Connection, restart: bool) -> Result<bool, Fault> {
    let lacking = db
        .prepare_cached(&format!("SELECT 1 FROM trace t WHERE {UNJUDGED} LIMIT 1"))?
        .exists([])?;
    Ok(lacking
        || restart
            && db
                .prepare_cached(&format!("SELECT 1 FROM queue WHERE {GIVEN_UP} LIMIT 1"))?
                .exists([])?)
}

pub(super) fn queue_judgements(
    db: &Connection,
    now: Timestamp,
    restart: bool,
) -> Result<(), Fault> {
    db.prepare_cached(&format!(
        "INSERT INTO queue (kind, trace, due_at) \
         SELECT 'judgement', t.key, ?1 FROM trace t WHERE {UNJUDGED} ORDER BY t.key"
    ))?
    .execute([now.as_millisecond()])?;
    if restart {
        db.prepare_cached(&format!(
            "UPDATE queue SET due_at = ?1, attempts = max(attempts - 1, 0) WHERE {GIVEN_UP}"
        ))?
        .execute([now.as_millisecond()])?;
    }
    Ok(())
}

fn subject(db: &Connection, kind: JobKind, trace: Option<i64>) -> Result<Option<Subject>, Fault> {
    let Some(key) = trace else {
        return Ok(None);
    };
    let mut select = db.prepare_cached(&format!(
        "SELECT {}, p.id, p.keep_personal_values FROM trace t JOIN project p ON p.key = t.project \
             LEFT JOIN review r ON r.trace = t.key WHERE t.key = ?1",
        row::TRACE
    ))?;
    let mut rows = select.query([key])?;
    let Some(found) = rows.next()? else {
        return Ok(None);
    };
    let project = ProjectId::new(found.get::<_, String>(row::TRACE_COLUMNS)?);
    let keep_personal_values = found.get(row::TRACE_COLUMNS + 1)?;
    let trace = row::trace(found)?;
    if kind == JobKind::Judgement {
        return Ok(Some(Subject::Judgement { project, trace }));
    }
    let mut select = db.prepare_cached(&format!(
        "SELECT {} FROM review r WHERE r.trace = ?1",
        row::REVIEW
    ))?;
    let mut rows = select.query([key])?;
    let review = rows.next()?.map(row::review).transpose()?;
    Ok(review.map(|review| Subject::Reflection {
        project,
        trace,
        review,
        keep_personal_values,
    }))
}
