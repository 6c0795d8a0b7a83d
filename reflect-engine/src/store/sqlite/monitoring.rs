//! What operators watch.

use async_trait::async_trait;
use reflect_types::ProjectId;

use super::{Sqlite, jobs, row};
use crate::error::Result;
use crate::store::{JobKind, Monitoring, Queue, Revision};

#[async_trait]
impl Monitoring for Sqlite {
    async fn queue(&self, kind: JobKind) -> Result<Queue> {
        self.read(move |db| {
            let count = "SELECT count(*) FROM queue WHERE kind = ?1 AND due_at IS NOT NULL";
            let count = db
                .prepare_cached(count)?
                .query_row([kind.as_str()], |row| Ok(row::count(row, 0)))??;
            Ok(Queue {
                jobs: count,
                oldest: jobs::next_due(db, kind)?,
            })
        })
        .await
    }

    async fn revisions(&self) -> Result<Vec<(ProjectId, Revision)>> {
        self.read(|db| {
            let mut select = db.prepare_cached("SELECT id, key, revision FROM project")?;
            let rows = select.query_map([], |row| {
                let (epoch, number) = (row.get(1)?, row.get(2)?);
                let id = ProjectId::new(row.get::<_, String>(0)?);
                Ok((id, Revision { epoch, number }))
            })?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
        .await
    }
}
