//! Claims of jobs, by a look on a reader and a write.

use jiff::Timestamp;

use super::database::Sqlite;
use super::jobs;
use crate::error::Result;
use crate::store::{Claims, JobKind, Lease};

impl Sqlite {
    pub(super) async fn claim(
        &self,
        kind: JobKind,
        now: Timestamp,
        lease: &Lease,
        limit: usize,
    ) -> Result<Claims> {
        // A look first: an idle engine must not take the write lock again and again.
        let next_due = self.read(move |db| jobs::next_due(db, kind)).await?;
        if limit == 0 || next_due.is_none_or(|due| due > now) {
            return Ok(Claims {
                jobs: Vec::new(),
                next_due,
            });
        }
        let claim = lease.clone();
        let taken = self
            .write(move |db| jobs::claim(db, kind, now, &claim, limit))
            .await?;
        // On a reader, because traces are long and all writes share one thread.
        let (claims, unreadable) = self.read(move |db| jobs::load(db, kind, &taken)).await?;
        if !unreadable.is_empty() {
            // Ended, or they would be claimed again and again.
            let owner = lease.owner.clone();
            self.write(move |db| jobs::give_up(db, &owner, &unreadable))
                .await?;
        }
        Ok(claims)
    }
}
