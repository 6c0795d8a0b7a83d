//! The queue of jobs.

use jiff::Timestamp;
use reflect_types::{KeyId, ProjectId, TraceId};

use super::fault::Fault;
use super::sql::Db;
use super::value::params;
use super::{projects, row};
use crate::review::{Decision, Refusal, Setback};
use crate::store::{JobKey, JobKind};

/// When the next job of a kind can be claimed.
pub(super) async fn next_due(db: &Db<'_>, kind: JobKind) -> Result<Option<Timestamp>, Fault> {
    let due: Option<Option<i64>> = db
        .value(
            "SELECT min(due_at) FROM queue WHERE kind = $1",
            params![kind.as_str()],
        )
        .await?;
    let due = due.flatten();
    Ok(due.map(row::milliseconds).transpose()?)
}

/// The time of the database, in milliseconds.
pub(super) async fn time(db: &Db<'_>) -> Result<i64, Fault> {
    let time = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
    db.one(time, &[]).await?.get(0)
}

/// Queues a job of a trace.
pub(super) async fn queue(
    db: &Db<'_>,
    kind: JobKind,
    trace: i64,
    due: Timestamp,
) -> Result<(), Fault> {
    put(db, kind, trace, Some(due), 0).await
}

/// Puts a new job in the place of the one that the trace may have; without a time, a parked one.
pub(super) async fn put(
    db: &Db<'_>,
    kind: JobKind,
    trace: i64,
    due: Option<Timestamp>,
    attempts: u32,
) -> Result<(), Fault> {
    db.execute(
        "INSERT INTO queue (kind, trace, due_at, attempts) VALUES ($1, $2, $3, $4) ON \
             CONFLICT (trace, kind) DO UPDATE SET key = excluded.key, due_at = \
             excluded.due_at, attempts = excluded.attempts, owner = NULL, error = NULL",
        params![
            kind.as_str(),
            trace,
            due.map(Timestamp::as_millisecond),
            attempts
        ],
    )
    .await?;
    Ok(())
}

/// Adds a parked job: the trace gets no other of this kind.
pub(super) async fn park(db: &Db<'_>, kind: JobKind, trace: i64) -> Result<(), Fault> {
    put(db, kind, trace, None, 0).await
}

/// Queues the job for its next attempt, or ends it, and keeps the error with the trace. A reflection
/// that ends can be retried, so its row goes; another job is parked, so that it is not queued again.
pub(super) async fn fail(
    db: &Db<'_>,
    owner: &str,
    key: JobKey,
    setback: &Setback,
) -> Result<(), Fault> {
    // As in a review of the trace, which changes the same rows.
    let project = db
        .value::<i64>(
            "SELECT t.project FROM queue j JOIN trace t ON t.key = j.trace WHERE j.key = $1",
            params![key],
        )
        .await?;
    if let Some(project) = project {
        projects::lock_key(db, project).await?;
    }
    let due = setback.next.due().map(Timestamp::as_millisecond);
    let uncounted = i64::from(!setback.counts);
    let held = db
        .first(
            "UPDATE queue SET owner = NULL, due_at = $3, attempts = attempts - $4, error = \
             nullif($5::text, '') WHERE key = $1 AND owner = $2 RETURNING kind = \
             'reflection', trace, attempts",
            params![key, owner, due, uncounted, setback.error],
        )
        .await?;
    let Some(held) = held else {
        return Ok(());
    };
    let (is_reflection, attempts): (bool, i64) = (held.get(0)?, held.get(2)?);
    let trace: Option<i64> = held.get(1)?;
    if !is_reflection {
        // Without an error, the judge has answered and was not sure.
        let reason = if setback.error.is_empty() {
            "no verdict"
        } else {
            &setback.error
        };
        db.execute(
            "UPDATE trace SET last_ingest_error = $2 WHERE key = $1 AND NOT reviewed AND \
             ingest_status = 'completed'",
            params![trace, reason],
        )
        .await?;
        return Ok(());
    }
    if due.is_none() {
        db.execute("DELETE FROM queue WHERE key = $1", params![key])
            .await?;
    }
    db.execute(
        "UPDATE trace SET ingest_status = $2, last_ingest_error = $3, ingest_attempts = \
             $4 WHERE key = $1",
        params![
            trace,
            setback.next.status().as_str(),
            setback.error,
            attempts
        ],
    )
    .await?;
    Ok(())
}

pub(super) async fn finish(db: &Db<'_>, owner: &str, key: JobKey) -> Result<(), Fault> {
    db.execute(
        "DELETE FROM queue WHERE key = $1 AND owner = $2",
        params![key, owner],
    )
    .await?;
    Ok(())
}

pub(super) async fn release(db: &Db<'_>, owner: &str) -> Result<(), Fault> {
    db.execute(
        "UPDATE queue SET owner = NULL, due_at = 0, attempts = attempts - 1 WHERE \
             substr(owner, 1, length($1)) = $1",
        params![owner],
    )
    .await?;
    Ok(())
}

pub(super) async fn retry(
    db: &Db<'_>,
    project: &ProjectId,
    id: &TraceId,
    now: Timestamp,
) -> Result<Decision, Fault> {
    projects::lock(db, project).await?;
    let Some(trace) = row::trace_key(db, project, id).await? else {
        return Ok(Err(Refusal::NoTrace));
    };
    let requeued = db
        .execute(
            "UPDATE trace SET ingest_status = 'queued', ingest_attempts = 0 WHERE key = $1 \
             AND ingest_status = 'failed'",
            params![trace],
        )
        .await?;
    if requeued == 0 {
        return Ok(Err(Refusal::NotFailed));
    }
    // A failed trace may have a job that is due much later.
    queue(db, JobKind::Reflection, trace, now).await?;
    Ok(Ok(()))
}

/// A trace that waits for a first review and has no judgement, not even a parked one. The verdict
/// of a model that was withdrawn leaves the trace to people.
const UNJUDGED: &str = "NOT t.reviewed AND t.ingest_status = 'completed' \
     AND t.withdrawn_model IS NULL \
     AND NOT EXISTS (SELECT 1 FROM review r WHERE r.trace = t.key) \
     AND NOT EXISTS (SELECT 1 FROM queue j WHERE j.trace = t.key AND j.kind = 'judgement')";

/// The traces of a key that have no review, and that a judge may still review.
pub(super) async fn unjudged(
    db: &Db<'_>,
    project: i64,
    key: &KeyId,
    only: Option<&TraceId>,
) -> Result<Vec<i64>, Fault> {
    let only = only.map(TraceId::as_str);
    db.column(
        "SELECT t.key FROM trace t WHERE t.project = $1 AND t.key_id = $2 AND ($3::text \
             IS NULL OR t.id = $3) AND NOT t.reviewed AND t.withdrawn_model IS NULL AND NOT \
             EXISTS (SELECT 1 FROM review r WHERE r.trace = t.key) AND NOT EXISTS (SELECT 1 \
             FROM queue j WHERE j.trace = t.key AND j.kind = 'judgement' AND j.due_at IS NULL \
             AND j.error IS NULL) ORDER BY t.key",
        params![project, key.as_str(), only],
    )
    .await
}

/// A judgement that was given up because of an error.
const GIVEN_UP: &str = "kind = 'judgement' AND due_at IS NULL AND error IS NOT NULL";

pub(super) async fn lacks_judgements(db: &Db<'_>, restart: bool) -> Result<bool, Fault> {
    let lacking = db
        .first(
            &format!("SELECT 1 FROM trace t WHERE {UNJUDGED} LIMIT 1"),
            &[],
        )
        .await?
        .is_some();
    Ok(lacking
        || restart
            && db
                .first(
                    &format!("SELECT 1 FROM queue WHERE {GIVEN_UP} LIMIT 1"),
                    &[],
                )
                .await?
                .is_some())
}

pub(super) async fn queue_judgements(
    db: &Db<'_>,
    now: Timestamp,
    restart: bool,
) -> Result<(), Fault> {
    db.execute(
        &format!(
            "INSERT INTO queue (kind, trace, due_at) \
         SELECT 'judgement', t.key, $1::bigint FROM trace t WHERE {UNJUDGED} ORDER BY t.key \
         ON CONFLICT (trace, kind) DO NOTHING"
        ),
        params![now.as_millisecond()],
    )
    .await?;
    if restart {
        db.execute(&format!(
            "UPDATE queue SET due_at = $1, attempts = greatest(attempts - 1, 0) WHERE {GIVEN_UP}"
        ), params![now.as_millisecond()]).await?;
    }
    Ok(())
}
