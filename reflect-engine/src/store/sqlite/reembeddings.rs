//! The jobs that embed memories: at most one for each embedder.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};

use super::fault::Fault;
use super::row;
use crate::store::{ClaimedJob, Claims, JobKey, Lease, Subject};

/// A job that waits or is held.
pub(super) struct Queued {
    key: JobKey,
    attempts: u32,
    /// When it can be claimed.
    pub(super) due: Timestamp,
}

pub(super) fn find(db: &Connection, embedder: &str) -> Result<Option<Queued>, Fault> {
    let found = db
        .prepare_cached(
            "SELECT key, attempts, due_at FROM queue \
             WHERE kind = 'reembedding' AND embedder = ?1 AND trace IS NULL",
        )?
        .query_row([embedder], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get::<_, i64>(2)?))
        })
        .optional()?;
    let Some((key, attempts, due)) = found else {
        return Ok(None);
    };
    let due = row::milliseconds(due)?;
    Ok(Some(Queued { key, attempts, due }))
}

pub(super) fn queue(
    db: &Connection,
    embedder: &str,
    now: Timestamp,
    restart: bool,
) -> Result<(), Fault> {
    let now = now.as_millisecond();
    if find(db, embedder)?.is_none() {
        db.prepare_cached(
            "INSERT INTO queue (kind, embedder, due_at) VALUES ('reembedding', ?1, ?2)",
        )?
        .execute(params![embedder, now])?;
    }
    if restart {
        db.prepare_cached(
            "UPDATE queue SET due_at = ?2, attempts = 0 WHERE kind = 'reembedding' \
                 AND embedder = ?1 AND trace IS NULL AND owner IS NULL",
        )?
        .execute(params![embedder, now])?;
    }
    Ok(())
}

pub(super) fn claim(
    db: &Connection,
    embedder: &str,
    now: Timestamp,
    lease: &Lease,
) -> Result<Claims, Fault> {
    let Some(Queued { key, attempts, due }) = find(db, embedder)? else {
        return Ok(Claims::default());
    };
    if due > now {
        return Ok(Claims {
            jobs: Vec::new(),
            next_due: Some(due),
        });
    }
    let attempts = attempts.saturating_add(1);
    db.prepare_cached("UPDATE queue SET owner = ?2, due_at = ?3, attempts = ?4 WHERE key = ?1")?
        .execute(params![
            key,
            lease.owner,
            lease.until.as_millisecond(),
            attempts
        ])?;
    let job = ClaimedJob {
        key,
        attempts,
        subject: Subject::Reembedding,
    };
    Ok(Claims {
        jobs: vec![job],
        next_due: Some(lease.until),
    })
}
