//! The embedders that there are vectors of, and the jobs that embed memories: at most one for each.

use jiff::Timestamp;

use super::db::Db;
use super::fault::Fault;
use super::row::time_of;
use super::value::params;
use crate::store::{ClaimedJob, Claims, JobKey, KnownEmbedder, Lease, Subject, VectorSpace};

/// The key of a space. Without dimensions, it is the one of the embedder that was seen last.
pub(super) async fn key(db: &Db<'_>, space: &VectorSpace) -> Result<Option<i64>, Fault> {
    let select = "SELECT key FROM embedder WHERE id = $1 AND ($2::bigint = 0 OR dims = $2) \
         ORDER BY seen_at DESC, key DESC LIMIT 1";
    db.value(select, &params![space.embedder, space.dims]).await
}

/// The key of the space of a vector, which is added if it is new.
pub(super) async fn key_or_create(
    db: &Db<'_>,
    space: &VectorSpace,
    now: Timestamp,
) -> Result<i64, Fault> {
    let existing = "SELECT key FROM embedder WHERE id = $1 AND dims = $2";
    let values = params![space.embedder, space.dims];
    if let Some(key) = db.value(existing, &values).await? {
        return Ok(key);
    }
    // Another transaction may add it meanwhile.
    let insert =
        "INSERT INTO embedder (id, dims, seen_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
    let now = now.as_millisecond();
    db.execute(insert, &params![space.embedder, space.dims, now])
        .await?;
    db.one(existing, &values).await?.first()
}

pub(super) async fn list(db: &Db<'_>) -> Result<Vec<KnownEmbedder>, Fault> {
    let select = "SELECT id, dims, seen_at, completed_at FROM embedder ORDER BY key";
    let rows = db.query(select, &[]).await?;
    let known = rows.iter().map(|row| {
        Ok(KnownEmbedder {
            space: VectorSpace::new(row.get::<String>("id")?, row.get("dims")?),
            seen_at: row.milliseconds("seen_at")?.unwrap_or_default(),
            completed_at: row.milliseconds("completed_at")?,
        })
    });
    known.collect()
}

pub(super) async fn announce(
    db: &Db<'_>,
    space: &VectorSpace,
    complete: bool,
    now: Timestamp,
) -> Result<(), Fault> {
    if space.dims > 0 {
        key_or_create(db, space, now).await?;
    }
    let announce = "UPDATE embedder SET seen_at = greatest(seen_at, $3), \
             completed_at = coalesce(completed_at, CASE WHEN $4 THEN $3 END) \
         WHERE id = $1 AND ($2::bigint = 0 OR dims = $2)";
    let now = now.as_millisecond();
    db.execute(
        announce,
        &params![space.embedder, space.dims, now, complete],
    )
    .await
    .map(drop)
}

/// Removes a space without vectors.
pub(super) async fn remove_empty(db: &Db<'_>, key: i64, space: &VectorSpace) -> Result<(), Fault> {
    let remove = "DELETE FROM embedder WHERE key = $1 \
         AND NOT EXISTS (SELECT 1 FROM embedding WHERE embedder = $1)";
    db.execute(remove, &params![key]).await?;
    let end = "DELETE FROM reembedding WHERE embedder = $1 \
         AND NOT EXISTS (SELECT 1 FROM embedder WHERE id = $1)";
    db.execute(end, &params![space.embedder]).await.map(drop)
}

/// When the job of an embedder can be claimed, if there is one.
pub(super) async fn due(db: &Db<'_>, embedder: &str) -> Result<Option<Timestamp>, Fault> {
    let select = "SELECT due_at FROM reembedding WHERE embedder = $1";
    let due: Option<Option<i64>> = db.value(select, &params![embedder]).await?;
    due.flatten().map(time_of).transpose()
}

pub(super) async fn queue(
    db: &Db<'_>,
    embedder: &str,
    now: Timestamp,
    restart: bool,
) -> Result<(), Fault> {
    let now = now.as_millisecond();
    let queue = "INSERT INTO reembedding (embedder, due_at) VALUES ($1, $2) \
         ON CONFLICT (embedder) DO NOTHING";
    db.execute(queue, &params![embedder, now]).await?;
    if restart {
        let restart = "UPDATE reembedding SET due_at = $2, attempts = 0 \
             WHERE embedder = $1 AND owner IS NULL";
        db.execute(restart, &params![embedder, now]).await?;
    }
    Ok(())
}

pub(super) async fn claim(
    db: &Db<'_>,
    embedder: &str,
    now: Timestamp,
    lease: &Lease,
) -> Result<Claims, Fault> {
    let claim = "UPDATE reembedding SET owner = $3, due_at = $4, attempts = attempts + 1 \
         WHERE embedder = $1 AND due_at <= $2 RETURNING key, attempts";
    let (now, until) = (now.as_millisecond(), lease.until.as_millisecond());
    let claimed = db
        .query(claim, &params![embedder, now, lease.owner, until])
        .await?;
    let jobs = claimed.iter().map(|row| {
        Ok(ClaimedJob {
            key: JobKey {
                project: 0,
                key: row.get("key")?,
            },
            attempts: row.get("attempts")?,
            subject: Subject::Reembedding,
        })
    });
    Ok(Claims {
        jobs: jobs.collect::<Result<_, Fault>>()?,
        next_due: due(db, embedder).await?,
    })
}
