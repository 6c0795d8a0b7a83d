//! The revisions of projects' memories.
//!
//! A transaction takes several at a time. Each update leaves a version of the project's row behind, which the rest of
//! the transaction has to pass over, and all that store traces meanwhile have to lock.

use super::fault::Fault;
use super::sql::Db;
use super::taken_revisions::Taken;
use super::value::params;

/// The next revision of the project's memories.
pub(super) async fn next_revision(db: &Db<'_>, project: i64) -> Result<i64, Fault> {
    next_revisions(db, project, 1).await
}

/// The first of as many new revisions of the project's memories.
pub(super) async fn next_revisions(db: &Db<'_>, project: i64, count: i64) -> Result<i64, Fault> {
    match db.taken().first_of(project, count) {
        Some(first) => Ok(first),
        None => take(db, project, count, count).await,
    }
}

/// Takes so many revisions at once, for a transaction that is going to need about as many.
pub(super) async fn expect_revisions(db: &Db<'_>, project: i64, count: i64) -> Result<(), Fault> {
    take(db, project, 0, count).await.map(drop)
}

/// Takes revisions and uses some of them; returns the first.
async fn take(db: &Db<'_>, project: i64, used: i64, needed: i64) -> Result<i64, Fault> {
    let count = db.taken().to_take(project, needed);
    let update = "UPDATE project SET revision = revision + $2 WHERE key = $1 \
         RETURNING revision - $2 + 1";
    let first: i64 = db.one(update, params![project, count]).await?.get(0)?;
    db.taken().keep(Taken {
        project,
        next: first + used,
        left: count - used,
        count,
    });
    Ok(first)
}
