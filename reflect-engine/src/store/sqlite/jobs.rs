//! The queue of jobs.

use jiff::Timestamp;
use reflect_types::{ProjectId, TraceId};
use rusqlite::{Connection, OptionalExtension, params};

use super::fault::Fault;
use super::{row, traces};
use crate::review::{Decision, NextAttempt, Refusal, Setback};
use crate::store::{ClaimedJob, Claims, Lease};

/// When the next job can be claimed.
pub(super) fn next_due(db: &Connection) -> Result<Option<Timestamp>, Fault> {
    let due: Option<i64> = db
        .prepare_cached("SELECT min(due_at) FROM job")?
        .query_row([], |row| row.get(0))?;
    due.map(|due| Timestamp::from_millisecond(due).map_err(|error| Fault::Data(error.to_string())))
        .transpose()
}

/// A claimed job that is not loaded yet.
pub(super) struct ClaimedRow {
    trace: i64,
    attempts: u32,
}

pub(super) fn claim(
    db: &Connection,
    now: Timestamp,
    lease: &Lease,
    limit: usize,
) -> Result<Vec<ClaimedRow>, Fault> {
    let due: Vec<i64> = db
        .prepare_cached("SELECT trace FROM job WHERE due_at <= ?1 ORDER BY due_at, trace LIMIT ?2")?
        .query_map(params![now.as_millisecond(), row::limit(limit)], |row| {
            row.get(0)
        })?
        .collect::<rusqlite::Result<_>>()?;
    let mut taken = Vec::with_capacity(due.len());
    for trace in due {
        let attempts: u32 = db
            .prepare_cached(
                "UPDATE job SET owner = ?2, due_at = ?3, attempts = attempts + 1 \
                 WHERE trace = ?1 RETURNING attempts",
            )?
            .query_row(
                params![trace, lease.owner, lease.until.as_millisecond()],
                |row| row.get(0),
            )?;
        db.prepare_cached(
            "UPDATE trace SET ingest_status = 'processing', ingest_attempts = ?2 WHERE key = ?1",
        )?
        .execute(params![trace, attempts])?;
        taken.push(ClaimedRow { trace, attempts });
    }
    Ok(taken)
}

/// A job whose trace cannot be read.
pub(super) struct UnreadableJob {
    trace: i64,
    why: String,
}

/// Loads claimed jobs, without those deleted since. Those that cannot be read are returned apart.
pub(super) fn load(
    db: &Connection,
    taken: Vec<ClaimedRow>,
) -> Result<(Claims, Vec<UnreadableJob>), Fault> {
    let mut jobs = Vec::with_capacity(taken.len());
    let mut unreadable = Vec::new();
    for ClaimedRow { trace, attempts } in taken {
        match job(db, trace, attempts) {
            Ok(job) => jobs.extend(job),
            Err(Fault::Data(why)) => unreadable.push(UnreadableJob { trace, why }),
            Err(fault) => return Err(fault),
        }
    }
    let next_due = next_due(db)?;
    Ok((Claims { jobs, next_due }, unreadable))
}

pub(super) fn give_up(
    db: &Connection,
    owner: &str,
    unreadable: &[UnreadableJob],
) -> Result<(), Fault> {
    for UnreadableJob { trace, why } in unreadable {
        if is_held(db, *trace, owner)? {
            let setback = Setback {
                error: why.clone(),
                next: NextAttempt::Never,
            };
            put_back(db, *trace, &setback)?;
        }
    }
    Ok(())
}

pub(super) fn renew(
    db: &Connection,
    lease: &Lease,
    project: &ProjectId,
    id: &TraceId,
) -> Result<bool, Fault> {
    let Some(trace) = traces::key(db, project, id)? else {
        return Ok(false);
    };
    let renewed = db
        .prepare_cached("UPDATE job SET due_at = ?3 WHERE owner = ?1 AND trace = ?2")?
        .execute(params![lease.owner, trace, lease.until.as_millisecond()])?;
    Ok(renewed > 0)
}

pub(super) fn fail(
    db: &Connection,
    owner: &str,
    (project, id): (&ProjectId, &TraceId),
    setback: &Setback,
) -> Result<(), Fault> {
    let Some(trace) = traces::key(db, project, id)? else {
        return Ok(());
    };
    if is_held(db, trace, owner)? {
        put_back(db, trace, setback)?;
    }
    Ok(())
}

fn is_held(db: &Connection, trace: i64, owner: &str) -> Result<bool, Fault> {
    Ok(db
        .prepare_cached("SELECT 1 FROM job WHERE trace = ?1 AND owner = ?2")?
        .exists(params![trace, owner])?)
}

/// Queues the job for its next attempt, or ends it.
fn put_back(db: &Connection, trace: i64, setback: &Setback) -> Result<(), Fault> {
    if let Some(at) = setback.next.due() {
        db.prepare_cached("UPDATE job SET owner = NULL, due_at = ?2 WHERE trace = ?1")?
            .execute([trace, at.as_millisecond()])?;
    } else {
        db.prepare_cached("DELETE FROM job WHERE trace = ?1")?
            .execute([trace])?;
    }
    db.prepare_cached(
        "UPDATE trace SET ingest_status = ?2, last_ingest_error = ?3 WHERE key = ?1",
    )?
    .execute(params![
        trace,
        setback.next.status().as_str(),
        setback.error
    ])?;
    Ok(())
}

pub(super) fn release(db: &Connection, owner: &str) -> Result<(), Fault> {
    db.prepare_cached(
        "UPDATE trace SET ingest_status = 'queued', ingest_attempts = ingest_attempts - 1 \
         WHERE key IN (SELECT trace FROM job WHERE substr(owner, 1, length(?1)) = ?1)",
    )?
    .execute([owner])?;
    db.prepare_cached(
        "UPDATE job SET owner = NULL, due_at = 0, attempts = attempts - 1 \
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
    let Some(trace) = traces::key(db, project, id)? else {
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
    db.prepare_cached("INSERT OR REPLACE INTO job (trace, due_at) VALUES (?1, ?2)")?
        .execute([trace, now.as_millisecond()])?;
    Ok(Ok(()))
}

fn job(db: &Connection, trace: i64, attempts: u32) -> Result<Option<ClaimedJob>, Fault> {
    let project: Option<String> = db
        .prepare_cached(
            "SELECT p.id FROM project p JOIN trace t ON t.project = p.key WHERE t.key = ?1",
        )?
        .query_row([trace], |row| row.get(0))
        .optional()?;
    let mut select = db.prepare_cached(&format!(
        "SELECT {} FROM trace t LEFT JOIN review r ON r.trace = t.key WHERE t.key = ?1",
        row::TRACE
    ))?;
    let mut rows = select.query([trace])?;
    let run = rows.next()?.map(row::trace).transpose()?;
    let mut select = db.prepare_cached(&format!(
        "SELECT {} FROM review r WHERE r.trace = ?1",
        row::REVIEW
    ))?;
    let mut rows = select.query([trace])?;
    let review = rows.next()?.map(row::review).transpose()?;
    let (Some(project), Some(run), Some(review)) = (project, run, review) else {
        return Ok(None);
    };
    Ok(Some(ClaimedJob {
        project: ProjectId::new(project),
        trace: run,
        review,
        attempts,
    }))
}
