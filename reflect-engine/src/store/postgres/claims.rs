//! Claims of jobs.

use futures_util::future::join_all;
use jiff::Timestamp;
use reflect_types::ProjectId;

use super::fault::Fault;
use super::jobs::{fail, next_due};
use super::row;
use super::sql::Db;
use super::value::params;
use crate::review::{NextAttempt, Setback};
use crate::store::{ClaimedJob, Claims, JobKey, JobKind, Lease, Subject};

/// A claimed job that is not loaded yet.
pub(super) struct ClaimedRow {
    key: JobKey,
    trace: Option<i64>,
    attempts: u32,
}

/// Claims due jobs, oldest first. The rows of their traces are not written, because they are long:
/// [`row::STATUS`] tells from the queue that a trace is worked on.
pub(super) async fn claim(
    db: &Db<'_>,
    kind: JobKind,
    now: Timestamp,
    lease: &Lease,
    limit: usize,
) -> Result<Vec<ClaimedRow>, Fault> {
    let due = due(db, kind, now, limit).await?;
    let claimed = db
        .query(
            "UPDATE queue SET owner = $2, due_at = $3, attempts = attempts + 1 WHERE key = ANY($1) \
             RETURNING key, trace, attempts",
            params![due.as_slice(), lease.owner, lease.until.as_millisecond()],
        )
        .await?;
    let mut taken = Vec::with_capacity(claimed.len());
    for row in &claimed {
        taken.push(ClaimedRow {
            key: row.get(0)?,
            trace: row.get(1)?,
            attempts: row.get(2)?,
        });
    }
    taken.sort_unstable_by_key(|row| due.iter().position(|key| *key == row.key));
    if kind == JobKind::Reflection {
        // Those that failed and are tried again.
        let traces: Vec<i64> = taken.iter().filter_map(|row| row.trace).collect();
        db.execute(
            "UPDATE trace SET ingest_status = 'queued' WHERE key = ANY($1) AND ingest_status <> \
             'queued'",
            params![traces.as_slice()],
        )
        .await?;
    }
    Ok(taken)
}

/// The jobs of the next claim. One whose lease has expired is claimed alone: it may have killed its
/// worker, and the attempt must not count for others.
async fn due(
    db: &Db<'_>,
    kind: JobKind,
    now: Timestamp,
    limit: usize,
) -> Result<Vec<JobKey>, Fault> {
    let rows = db
        .query(
            "SELECT key, owner IS NOT NULL FROM queue WHERE kind = $1 AND trace IS NOT NULL AND due_at \
             <= $2 ORDER BY due_at, key LIMIT $3 FOR UPDATE SKIP LOCKED",
            params![kind.as_str(), now.as_millisecond(), row::limit(limit)],
        )
        .await?;
    let mut due = Vec::new();
    for row in &rows {
        let (key, has_expired) = (row.get(0)?, row.get(1)?);
        if has_expired && !due.is_empty() {
            break;
        }
        due.push(key);
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
pub(super) async fn load(
    db: &Db<'_>,
    kind: JobKind,
    taken: &[ClaimedRow],
) -> Result<(Claims, Vec<UnreadableJob>), Fault> {
    let mut jobs = Vec::with_capacity(taken.len());
    let mut unreadable = Vec::new();
    // Sent without waiting for each other.
    let subjects = taken.iter().map(|row| subject(db, kind, row.trace));
    for (row, subject) in taken.iter().zip(join_all(subjects).await) {
        let &ClaimedRow { key, attempts, .. } = row;
        match subject {
            Ok(subject) => jobs.extend(subject.map(|subject| ClaimedJob {
                key,
                attempts,
                subject,
            })),
            Err(Fault::Data(why)) => unreadable.push(UnreadableJob { key, why }),
            Err(fault) => return Err(fault),
        }
    }
    let next_due = next_due(db, kind).await?;
    Ok((Claims { jobs, next_due }, unreadable))
}

pub(super) async fn give_up(
    db: &Db<'_>,
    owner: &str,
    unreadable: &[UnreadableJob],
) -> Result<(), Fault> {
    for UnreadableJob { key, why } in unreadable {
        let setback = Setback {
            error: why.clone(),
            next: NextAttempt::Never,
            counts: true,
        };
        fail(db, owner, *key, &setback).await?;
    }
    Ok(())
}

pub(super) async fn renew(db: &Db<'_>, lease: &Lease, key: JobKey) -> Result<bool, Fault> {
    let renewed = db
        .execute(
            "UPDATE queue SET due_at = $3 WHERE owner = $1 AND key = $2",
            params![lease.owner, key, lease.until.as_millisecond()],
        )
        .await?;
    Ok(renewed > 0)
}

async fn subject(db: &Db<'_>, kind: JobKind, trace: Option<i64>) -> Result<Option<Subject>, Fault> {
    let Some(key) = trace else {
        return Ok(None);
    };
    let rows = db
        .query(
            &format!(
                "SELECT {}, p.id, p.keep_personal_values FROM trace t JOIN project p ON p.key = t.project \
             LEFT JOIN review r ON r.trace = t.key WHERE t.key = $1",
                row::TRACE
            ),
            params![key],
        )
        .await?;
    let Some(found) = rows.first() else {
        return Ok(None);
    };
    let project = ProjectId::new(found.get::<String>(row::TRACE_COLUMNS)?);
    let keep_personal_values = found.get(row::TRACE_COLUMNS + 1)?;
    let trace = row::trace(found)?;
    if kind == JobKind::Judgement {
        return Ok(Some(Subject::Judgement { project, trace }));
    }
    let rows = db
        .query(
            &format!("SELECT {} FROM review r WHERE r.trace = $1", row::REVIEW),
            params![key],
        )
        .await?;
    let review = rows.first().map(row::review).transpose()?;
    Ok(review.map(|review| Subject::Reflection {
        project,
        trace,
        review,
        keep_personal_values,
    }))
}
