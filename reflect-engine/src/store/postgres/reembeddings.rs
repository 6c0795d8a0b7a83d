//! The jobs that embed memories: at most one for each embedder.

use jiff::Timestamp;

use super::fault::Fault;
use super::row;
use super::sql::Db;
use super::value::params;
use crate::store::{ClaimedJob, Claims, Lease, Subject};

/// When the job of an embedder can be claimed, if there is one.
pub(super) async fn due(db: &Db<'_>, embedder: &str) -> Result<Option<Timestamp>, Fault> {
    let due: Option<i64> = db
        .value(
            "SELECT due_at FROM queue \
             WHERE kind = 'reembedding' AND embedder = $1 AND trace IS NULL",
            params![embedder],
        )
        .await?;
    Ok(due.map(row::milliseconds).transpose()?)
}

pub(super) async fn queue(
    db: &Db<'_>,
    embedder: &str,
    now: Timestamp,
    restart: bool,
) -> Result<(), Fault> {
    let now = now.as_millisecond();
    db.execute(
        "INSERT INTO queue (kind, embedder, due_at) VALUES ('reembedding', $1, $2) \
         ON CONFLICT (kind, embedder) WHERE trace IS NULL DO NOTHING",
        params![embedder, now],
    )
    .await?;
    if restart {
        db.execute(
            "UPDATE queue SET due_at = $2, attempts = 0 WHERE kind = 'reembedding' \
                 AND embedder = $1 AND trace IS NULL AND owner IS NULL",
            params![embedder, now],
        )
        .await?;
    }
    Ok(())
}

pub(super) async fn claim(
    db: &Db<'_>,
    embedder: &str,
    now: Timestamp,
    lease: &Lease,
) -> Result<Claims, Fault> {
    let claimed = db
        .first(
            "UPDATE queue SET owner = $3, due_at = $4, attempts = attempts + 1 \
             WHERE kind = 'reembedding' AND embedder = $1 AND trace IS NULL AND due_at <= $2 \
             RETURNING key, attempts",
            params![
                embedder,
                now.as_millisecond(),
                lease.owner,
                lease.until.as_millisecond()
            ],
        )
        .await?;
    let job = claimed.map(|row| {
        Ok::<_, Fault>(ClaimedJob {
            key: row.get(0)?,
            attempts: row.get(1)?,
            subject: Subject::Reembedding,
        })
    });
    Ok(Claims {
        jobs: job.transpose()?.into_iter().collect(),
        next_due: due(db, embedder).await?,
    })
}
