//! What operators watch.

use async_trait::async_trait;
use reflect_types::ProjectId;

use super::db::Db;
use super::driver::{Driver, run};
use super::fault::Fault;
use super::jobs;
use super::value::params;
use crate::error::Result;
use crate::store::{Connections, JobKind, Monitoring, Queue, Revision};

#[async_trait]
impl<D: Driver> Monitoring for D {
    async fn queue(&self, kind: JobKind) -> Result<Queue> {
        run!(self.read(; kind) => queue)
    }

    async fn revisions(&self) -> Result<Vec<(ProjectId, Revision)>> {
        run!(self.look() => revisions)
    }

    fn connections(&self) -> Option<Connections> {
        Driver::connections(self)
    }
}

async fn queue(db: &Db<'_>, kind: JobKind) -> Result<Queue, Fault> {
    let count = match kind {
        JobKind::Reembedding => {
            "SELECT count(*) FROM reembedding WHERE due_at IS NOT NULL AND $1 <> ''"
        }
        _ => "SELECT count(*) FROM queue WHERE kind = $1 AND due_at IS NOT NULL",
    };
    Ok(Queue {
        jobs: db.one(count, &params![kind.as_str()]).await?.first()?,
        oldest: jobs::next_due(db, kind).await?,
    })
}

async fn revisions(db: &Db<'_>) -> Result<Vec<(ProjectId, Revision)>, Fault> {
    let rows = db
        .query("SELECT id, key, revision FROM project", &[])
        .await?;
    let revisions = rows.iter().map(|row| {
        let (epoch, number) = (row.get("key")?, row.get("revision")?);
        Ok((row.get("id")?, Revision { epoch, number }))
    });
    revisions.collect()
}
