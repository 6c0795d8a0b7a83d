//! The embedders that there are vectors of.

use jiff::Timestamp;

use super::fault::Fault;
use super::row;
use super::sql::Db;
use super::value::params;
use crate::store::{KnownEmbedder, VectorSpace};

/// The key of a space. Without dimensions, it is the one of the embedder that was seen last.
pub(super) async fn key(db: &Db<'_>, space: &VectorSpace) -> Result<Option<i64>, Fault> {
    db.value(
        "SELECT key FROM embedder WHERE id = $1 AND ($2::bigint = 0 OR dims = $2) \
         ORDER BY seen_at DESC, key DESC LIMIT 1",
        params![space.embedder, dims(space)],
    )
    .await
}

/// The key of the space of a vector, which is added if it is new.
pub(super) async fn key_or_new(
    db: &Db<'_>,
    space: &VectorSpace,
    now: Timestamp,
) -> Result<i64, Fault> {
    let existing = "SELECT key FROM embedder WHERE id = $1 AND dims = $2";
    let found = db
        .value(existing, params![space.embedder, dims(space)])
        .await?;
    if let Some(key) = found {
        return Ok(key);
    }
    // Another transaction may add it meanwhile.
    db.execute(
        "INSERT INTO embedder (id, dims, seen_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
        params![space.embedder, dims(space), now.as_millisecond()],
    )
    .await?;
    db.one(existing, params![space.embedder, dims(space)])
        .await?
        .get(0)
}

pub(super) async fn list(db: &Db<'_>) -> Result<Vec<KnownEmbedder>, Fault> {
    let rows = db
        .query(
            "SELECT id, dims, seen_at, completed_at FROM embedder ORDER BY key",
            &[],
        )
        .await?;
    let known = rows.iter().map(|found| {
        let dims = usize::try_from(found.get::<i64>(1)?).unwrap_or_default();
        Ok(KnownEmbedder {
            space: VectorSpace::new(found.get::<String>(0)?, dims),
            seen_at: row::optional_milliseconds(found, 2)?.unwrap_or_default(),
            completed_at: row::optional_milliseconds(found, 3)?,
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
        key_or_new(db, space, now).await?;
    }
    db.execute(
        "UPDATE embedder SET seen_at = greatest(seen_at, $3), completed_at = \
             coalesce(completed_at, CASE WHEN $4 THEN $3 END) \
         WHERE id = $1 AND ($2::bigint = 0 OR dims = $2)",
        params![space.embedder, dims(space), now.as_millisecond(), complete],
    )
    .await?;
    Ok(())
}

/// Removes a space without vectors.
pub(super) async fn remove_empty(db: &Db<'_>, key: i64, space: &VectorSpace) -> Result<(), Fault> {
    db.execute(
        "DELETE FROM embedder WHERE key = $1 AND NOT EXISTS (SELECT FROM embedding WHERE embedder = $1)",
        params![key],
    )
    .await?;
    db.execute(
        "DELETE FROM queue WHERE kind = 'reembedding' AND embedder = $1 AND trace IS NULL \
             AND NOT EXISTS (SELECT FROM embedder WHERE id = $1)",
        params![space.embedder],
    )
    .await?;
    Ok(())
}

pub(super) fn dims(space: &VectorSpace) -> i64 {
    row::limit(space.dims)
}
