//! What operators watch.

use async_trait::async_trait;
use reflect_types::ProjectId;

use super::fault::Fault;
use super::sql::Db;
use super::transaction::read;
use super::value::params;
use super::{Postgres, jobs, row};
use crate::error::Result;
use crate::store::{Connections, JobKind, Monitoring, Queue, Revision};

#[async_trait]
impl Monitoring for Postgres {
    async fn queue(&self, kind: JobKind) -> Result<Queue> {
        read!(self, |db| queue(db, kind))
    }

    async fn revisions(&self) -> Result<Vec<(ProjectId, Revision)>> {
        read!(self, |db| revisions(db))
    }

    fn connections(&self) -> Option<Connections> {
        let status = self.pool().status();
        Some(Connections {
            max: status.max_size,
            open: status.size,
            in_use: status.size.saturating_sub(status.available),
            waiting: status.waiting,
        })
    }
}

async fn queue(db: &Db<'_>, kind: JobKind) -> Result<Queue, Fault> {
    let count = "SELECT count(*) FROM queue WHERE kind = $1 AND due_at IS NOT NULL";
    let count = db.one(count, params![kind.as_str()]).await?;
    Ok(Queue {
        jobs: row::count(&count, 0)?,
        oldest: jobs::next_due(db, kind).await?,
    })
}

async fn revisions(db: &Db<'_>) -> Result<Vec<(ProjectId, Revision)>, Fault> {
    let rows = db
        .query("SELECT id, key, revision FROM project", &[])
        .await?;
    let revisions = rows.iter().map(|row| {
        let (epoch, number) = (row.get(1)?, row.get(2)?);
        Ok((
            ProjectId::new(row.get::<String>(0)?),
            Revision { epoch, number },
        ))
    });
    revisions.collect()
}
