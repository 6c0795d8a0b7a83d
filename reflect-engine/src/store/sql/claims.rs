//! Claims of jobs.

use jiff::{SignedDuration, Timestamp};

use super::db::Db;
use super::fault::Fault;
use super::traces::{CURRENT, TRACE};
use super::value::{Rows, params};
use super::{jobs, reviews, traces};
use crate::review::{NextAttempt, Setback};
use crate::store::{ClaimedJob, Claims, JobKey, JobKind, Lease, Subject};

/// A time that is wrong by so much.
pub(super) fn corrected(time: Timestamp, error: SignedDuration) -> Timestamp {
    time.checked_add(error).unwrap_or(time)
}

impl Lease {
    /// The lease, if its end is wrong by so much.
    pub(super) fn corrected(&self, error: SignedDuration) -> Self {
        Self {
            owner: self.owner.clone(),
            until: corrected(self.until, error),
        }
    }
}

/// A claimed job that is not loaded yet.
pub(super) struct ClaimedRow {
    key: JobKey,
    trace: i64,
    attempts: u32,
}

/// Claims due jobs, oldest first. The rows of their traces are not written, because they are long: [`traces::STATUS`]
/// tells from the queue that a trace is worked on.
///
/// A job whose lease has expired is claimed alone: it may have killed its worker, and the attempt must not count for
/// others.
pub(super) async fn claim(
    db: &Db<'_>,
    kind: JobKind,
    now: Timestamp,
    lease: &Lease,
    limit: usize,
) -> Result<Vec<ClaimedRow>, Fault> {
    let due = "SELECT project, key, trace, attempts + 1 AS attempts, owner IS NOT NULL AS has_expired \
         FROM queue WHERE kind = $1 AND due_at <= $2 ORDER BY due_at, key LIMIT $3 \
         FOR UPDATE SKIP LOCKED";
    let rows = db
        .query(due, &params![kind.as_str(), now.as_millisecond(), limit])
        .await?;
    let mut taken = Vec::with_capacity(rows.len());
    for row in &rows {
        let has_expired: bool = row.get("has_expired")?;
        if has_expired && !taken.is_empty() {
            break;
        }
        taken.push(ClaimedRow {
            key: JobKey {
                project: row.get("project")?,
                key: row.get("key")?,
            },
            trace: row.get("trace")?,
            attempts: row.get("attempts")?,
        });
        if has_expired {
            break;
        }
    }
    let mut claimed =
        Rows::new("project bigint, key bigint, owner text, due_at bigint, attempts bigint");
    let mut traces = Rows::new("project bigint, trace bigint");
    let until = lease.until.as_millisecond();
    for job in &taken {
        let key = job.key;
        claimed.push(params![
            key.project,
            key.key,
            lease.owner,
            until,
            job.attempts
        ]);
        traces.push(params![key.project, job.trace]);
    }
    db.update("queue", &claimed).await?;
    if kind == JobKind::Reflection {
        // Those that failed and are tried again.
        let again = "UPDATE trace SET ingest_status = 'queued' FROM {rows} \
             WHERE trace.project = r.project AND trace.key = r.trace AND trace.ingest_status <> 'queued'";
        db.execute_rows(again, &traces).await?;
    }
    Ok(taken)
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
    for &ClaimedRow {
        key,
        trace,
        attempts,
    } in taken
    {
        match subject(db, kind, key.project, trace).await {
            Ok(subject) => jobs.extend(subject.map(|subject| ClaimedJob {
                key,
                attempts,
                subject,
            })),
            Err(Fault::Data(why)) => unreadable.push(UnreadableJob { key, why }),
            Err(fault) => return Err(fault),
        }
    }
    let next_due = jobs::next_due(db, kind).await?;
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
        jobs::fail(db, owner, &setback, *key).await?;
    }
    Ok(())
}

pub(super) async fn renew(db: &Db<'_>, lease: &Lease, key: JobKey) -> Result<bool, Fault> {
    let renew = format!(
        "UPDATE {} SET due_at = $4 WHERE {} AND owner = $3",
        jobs::table(key),
        jobs::is(key)
    );
    let until = lease.until.as_millisecond();
    let renewed = db
        .execute(&renew, &params![key.project, key.key, lease.owner, until])
        .await?;
    Ok(renewed > 0)
}

async fn subject(
    db: &Db<'_>,
    kind: JobKind,
    project: i64,
    trace: i64,
) -> Result<Option<Subject>, Fault> {
    let select = format!(
        "SELECT {TRACE}, p.id AS project_id, p.keep_personal_values \
         FROM trace t JOIN project p ON p.key = t.project {CURRENT} WHERE t.project = $1 AND t.key = $2"
    );
    let Some(found) = db.first(&select, &params![project, trace]).await? else {
        return Ok(None);
    };
    let project_id = found.get("project_id")?;
    let decoded = traces::read(&found)?.decode();
    let decoded = decoded.map_err(|error| Fault::Data(error.to_string()))?;
    if kind == JobKind::Judgement {
        return Ok(Some(Subject::Judgement {
            project: project_id,
            trace: decoded,
        }));
    }
    let select = format!(
        "SELECT {} FROM review r WHERE r.project = $1 AND r.trace = $2 AND r.state = 'current'",
        reviews::REVIEW
    );
    let review = db.first(&select, &params![project, trace]).await?;
    let review = review.as_ref().map(reviews::read).transpose()?;
    let keep_personal_values = found.get("keep_personal_values")?;
    Ok(review.map(|review| Subject::Reflection {
        project: project_id,
        trace: decoded,
        review,
        keep_personal_values,
    }))
}
