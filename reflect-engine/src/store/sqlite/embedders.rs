//! The embedders that there are vectors of.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};

use super::fault::Fault;
use super::row;
use crate::store::{KnownEmbedder, VectorSpace};

/// The key of a space. Without dimensions, it is the one of the embedder that was seen last.
pub(super) fn key(db: &Connection, space: &VectorSpace) -> Result<Option<i64>, Fault> {
    if space.dims > 0 {
        return Ok(db
            .prepare_cached("SELECT key FROM embedder WHERE id = ?1 AND dims = ?2")?
            .query_row(params![space.embedder, dims(space)], |row| row.get(0))
            .optional()?);
    }
    Ok(db
        .prepare_cached("SELECT key FROM embedder WHERE id = ?1 ORDER BY seen_at DESC, key DESC")?
        .query_row([&space.embedder], |row| row.get(0))
        .optional()?)
}

/// The key of the space of a vector, which is added if it is new.
pub(super) fn key_or_new(
    db: &Connection,
    space: &VectorSpace,
    now: Timestamp,
) -> Result<i64, Fault> {
    if let Some(key) = key(db, space)? {
        return Ok(key);
    }
    db.prepare_cached("INSERT INTO embedder (id, dims, seen_at) VALUES (?1, ?2, ?3)")?
        .execute(params![space.embedder, dims(space), now.as_millisecond()])?;
    Ok(db.last_insert_rowid())
}

pub(super) fn list(db: &Connection) -> Result<Vec<KnownEmbedder>, Fault> {
    let mut select =
        db.prepare_cached("SELECT id, dims, seen_at, completed_at FROM embedder ORDER BY key")?;
    let mut rows = select.query([])?;
    let mut known = Vec::new();
    while let Some(found) = rows.next()? {
        let dims = usize::try_from(found.get::<_, i64>(1)?).unwrap_or_default();
        known.push(KnownEmbedder {
            space: VectorSpace::new(found.get::<_, String>(0)?, dims),
            seen_at: row::optional_milliseconds(found, 2)?.unwrap_or_default(),
            completed_at: row::optional_milliseconds(found, 3)?,
        });
    }
    Ok(known)
}

pub(super) fn announce(
    db: &Connection,
    space: &VectorSpace,
    complete: bool,
    now: Timestamp,
) -> Result<(), Fault> {
    if space.dims > 0 {
        key_or_new(db, space, now)?;
    }
    db.prepare_cached(
        "UPDATE embedder SET seen_at = max(seen_at, ?3), \
             completed_at = coalesce(completed_at, iif(?4, ?3, NULL)) \
         WHERE id = ?1 AND (?2 = 0 OR dims = ?2)",
    )?
    .execute(params![
        space.embedder,
        dims(space),
        now.as_millisecond(),
        complete
    ])?;
    Ok(())
}

/// Removes a space without vectors.
pub(super) fn remove_empty(db: &Connection, key: i64, space: &VectorSpace) -> Result<(), Fault> {
    db.prepare_cached(
        "DELETE FROM embedder WHERE key = ?1 \
             AND NOT EXISTS (SELECT 1 FROM embedding WHERE embedder = ?1)",
    )?
    .execute([key])?;
    db.prepare_cached(
        "DELETE FROM queue WHERE kind = 'reembedding' AND embedder = ?1 AND trace IS NULL \
             AND NOT EXISTS (SELECT 1 FROM embedder WHERE id = ?1)",
    )?
    .execute([&space.embedder])?;
    Ok(())
}

pub(super) fn dims(space: &VectorSpace) -> i64 {
    row::limit(space.dims)
}
