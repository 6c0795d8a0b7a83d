//! The queue of jobs.

use jiff::Timestamp;
use reflect_types::{KeyId, ProjectId, TraceId};

use super::db::Db;
use super::fault::Fault;
use super::row::time_of;
use super::value::{Rows, params};
use super::{projects, traces};
use crate::review::{Decision, Refusal, Setback};
use crate::store::{JobKey, JobKind};

/// When the next job of a kind can be claimed.
pub(super) async fn next_due(db: &Db<'_>, kind: JobKind) -> Result<Option<Timestamp>, Fault> {
    let select = match kind {
        JobKind::Reembedding => "SELECT min(due_at) FROM reembedding WHERE $1 <> ''",
        _ => "SELECT min(due_at) FROM queue WHERE kind = $1",
    };
    let due: Option<i64> = db.one(select, &params![kind.as_str()]).await?.first()?;
    due.map(time_of).transpose()
}

/// A job to put: its kind and trace, when it is due, and the attempts that were made. Without a time it is parked: the
/// trace gets no other of this kind.
pub(super) type NewJob = (JobKind, i64, Option<Timestamp>, u32);

/// Puts new jobs in the place of those that the traces may have: who works on one of these no longer holds it.
pub(super) async fn put(db: &Db<'_>, project: i64, jobs: &[NewJob]) -> Result<(), Fault> {
    let mut rows =
        Rows::new("project bigint, kind text, trace bigint, due_at bigint, attempts bigint");
    for (kind, trace, due, attempts) in jobs {
        let due = due.map(Timestamp::as_millisecond);
        rows.push(params![project, kind.as_str(), trace, due, attempts]);
    }
    if rows.is_empty() {
        return Ok(());
    }
    let delete = "DELETE FROM queue WHERE (project, trace, kind) IN \
         (SELECT r.project, r.trace, r.kind FROM {rows})";
    db.execute_rows(delete, &rows).await?;
    db.insert("queue", &rows).await
}

/// Deletes the jobs of traces, held or not.
pub(super) async fn remove(
    db: &Db<'_>,
    project: i64,
    kind: JobKind,
    traces: &[i64],
) -> Result<(), Fault> {
    if traces.is_empty() {
        return Ok(());
    }
    let remove = "DELETE FROM queue WHERE project = $1 AND trace = ANY($2) AND kind = $3";
    db.execute(remove, &params![project, traces, kind.as_str()])
        .await
        .map(drop)
}

/// The table of a job. Those of no project embed memories.
pub(super) fn table(key: JobKey) -> &'static str {
    if key.project == 0 {
        "reembedding"
    } else {
        "queue"
    }
}

/// The condition on the row of a job, whose key is the first two parameters.
pub(super) fn is(key: JobKey) -> &'static str {
    if key.project == 0 {
        "key = $2 AND $1::bigint = 0"
    } else {
        "project = $1 AND key = $2"
    }
}

/// Queues a job for its next attempt, or ends it, and keeps the error with the trace. A reflection that ends can be
/// retried, so its row goes; another job is parked, so that it is not queued again.
pub(super) async fn fail(
    db: &Db<'_>,
    owner: &str,
    setback: &Setback,
    key: JobKey,
) -> Result<(), Fault> {
    // As in a review of the trace, which changes the same rows.
    projects::lock_keys(db, &[key.project]).await?;
    let due = setback.next.due().map(Timestamp::as_millisecond);
    let uncounted = i64::from(!setback.counts);
    let fail = format!(
        "UPDATE {} SET owner = NULL, due_at = $4, attempts = attempts - $5, error = nullif($6::text, '') \
         WHERE {} AND owner = $3 RETURNING attempts{}",
        table(key),
        is(key),
        if key.project == 0 {
            ""
        } else {
            ", kind = 'reflection' AS is_reflection, trace"
        },
    );
    let values = params![key.project, key.key, owner, due, uncounted, setback.error];
    let Some(held) = db.first(&fail, &values).await? else {
        return Ok(());
    };
    if key.project == 0 {
        return Ok(());
    }
    let (trace, attempts): (i64, i64) = (held.get("trace")?, held.get("attempts")?);
    if !held.get::<bool>("is_reflection")? {
        // Without an error, the judge has answered and was not sure.
        let reason = match setback.error.as_str() {
            "" => "no verdict",
            error => error,
        };
        let note = "UPDATE trace SET last_ingest_error = $3 WHERE project = $1 AND key = $2 \
             AND NOT reviewed AND ingest_status = 'completed'";
        db.execute(note, &params![key.project, trace, reason])
            .await?;
        return Ok(());
    }
    if due.is_none() {
        let end = "DELETE FROM queue WHERE project = $1 AND key = $2";
        db.execute(end, &params![key.project, key.key]).await?;
    }
    let note = "UPDATE trace SET ingest_status = $3, last_ingest_error = $4, ingest_attempts = $5 \
         WHERE project = $1 AND key = $2";
    let status = setback.next.status();
    let values = params![key.project, trace, status, setback.error, attempts];
    db.execute(note, &values).await.map(drop)
}

pub(super) async fn finish(db: &Db<'_>, owner: &str, key: JobKey) -> Result<(), Fault> {
    let finish = format!(
        "DELETE FROM {} WHERE {} AND owner = $3",
        table(key),
        is(key)
    );
    db.execute(&finish, &params![key.project, key.key, owner])
        .await
        .map(drop)
}

pub(super) async fn release(db: &Db<'_>, owner: &str) -> Result<(), Fault> {
    for table in ["queue", "reembedding"] {
        let release = format!(
            "UPDATE {table} SET owner = NULL, due_at = 0, attempts = attempts - 1 \
             WHERE substr(owner, 1, length($1)) = $1"
        );
        db.execute(&release, &params![owner]).await?;
    }
    Ok(())
}

pub(super) async fn retry(
    db: &Db<'_>,
    project: &ProjectId,
    id: &TraceId,
    now: Timestamp,
) -> Result<Decision, Fault> {
    let Some(project) = projects::lock(db, project).await? else {
        return Ok(Err(Refusal::NoTrace));
    };
    let Some(trace) = traces::key_of(db, project, id).await? else {
        return Ok(Err(Refusal::NoTrace));
    };
    let requeue = "UPDATE trace SET ingest_status = 'queued', ingest_attempts = 0 \
         WHERE project = $1 AND key = $2 AND ingest_status = 'failed'";
    if db.execute(requeue, &params![project, trace]).await? == 0 {
        return Ok(Err(Refusal::NotFailed));
    }
    // A failed trace may have a job that is due much later.
    put(db, project, &[(JobKind::Reflection, trace, Some(now), 0)]).await?;
    Ok(Ok(()))
}

/// A trace that waits for a first review and has no judgement, not even a parked one. The verdict of a model that was
/// withdrawn leaves the trace to people.
const UNJUDGED: &str = "NOT t.reviewed AND t.ingest_status = 'completed' AND t.withdrawn_model IS NULL \
     AND NOT EXISTS (SELECT 1 FROM review r WHERE r.project = t.project AND r.trace = t.key \
         AND r.state = 'current') \
     AND NOT EXISTS (SELECT 1 FROM queue j WHERE j.project = t.project AND j.trace = t.key \
         AND j.kind = 'judgement')";

/// The traces of a key that have no review, and that a judge may still review.
pub(super) async fn unjudged(
    db: &Db<'_>,
    project: i64,
    key: &KeyId,
    only: Option<&TraceId>,
) -> Result<Vec<i64>, Fault> {
    db.column(
        "SELECT t.key FROM trace t WHERE t.project = $1 AND t.key_id = $2 \
             AND ($3::text IS NULL OR t.id = $3) AND NOT t.reviewed AND t.withdrawn_model IS NULL \
             AND NOT EXISTS (SELECT 1 FROM review r WHERE r.project = t.project AND r.trace = t.key \
                 AND r.state = 'current') \
             AND NOT EXISTS (SELECT 1 FROM queue j WHERE j.project = t.project AND j.trace = t.key \
                 AND j.kind = 'judgement' AND j.due_at IS NULL AND j.error IS NULL) ORDER BY t.key",
        &params![project, key, only],
    )
    .await
}

/// A judgement that was given up because of an error.
const GIVEN_UP: &str = "kind = 'judgement' AND due_at IS NULL AND error IS NOT NULL";

pub(super) async fn lacks_judgements(db: &Db<'_>, restart: bool) -> Result<bool, Fault> {
    let lacking = format!("SELECT 1 AS one FROM trace t WHERE {UNJUDGED} LIMIT 1");
    if db.first(&lacking, &[]).await?.is_some() {
        return Ok(true);
    }
    let given_up = format!("SELECT 1 AS one FROM queue WHERE {GIVEN_UP} LIMIT 1");
    Ok(restart && db.first(&given_up, &[]).await?.is_some())
}

pub(super) async fn queue_judgements(
    db: &Db<'_>,
    now: Timestamp,
    restart: bool,
) -> Result<(), Fault> {
    let now = now.as_millisecond();
    let queue = format!(
        "INSERT INTO queue (project, kind, trace, due_at) \
         SELECT t.project, 'judgement', t.key, $1::bigint FROM trace t WHERE {UNJUDGED} \
         ORDER BY t.key ON CONFLICT (project, trace, kind) DO NOTHING"
    );
    db.execute(&queue, &params![now]).await?;
    if restart {
        let again = format!(
            "UPDATE queue SET due_at = $1, attempts = greatest(attempts - 1, 0) WHERE {GIVEN_UP}"
        );
        db.execute(&again, &params![now]).await?;
    }
    Ok(())
}
