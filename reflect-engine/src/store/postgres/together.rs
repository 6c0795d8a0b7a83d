//! Traces and reviews of a project that are stored together.

use std::sync::Arc;

use deadpool_postgres::Pool;
use futures_util::future::try_join_all;
use reflect_types::{ProjectId, TraceId, TraceReceipt};

use super::fault::{Fault, unreachable};
use super::group::Groups;
use super::revisions::expect_revisions;
use super::sql::Db;
use super::{Postgres, projects, reviewing, row, traces};
use crate::error::Result;
use crate::review::{Action, Decision};
use crate::store::Intake;
use crate::store::encoded_trace::EncodedTrace;

/// A trace to insert.
pub(super) struct TraceWrite {
    pub(super) project: ProjectId,
    pub(super) trace: EncodedTrace,
    pub(super) intake: Intake,
}

/// A change of the review of a trace.
pub(super) struct ReviewWrite {
    pub(super) project: ProjectId,
    pub(super) trace: TraceId,
    pub(super) action: Action,
}

/// The writes that wait for a transaction.
pub(super) struct Together {
    traces: Groups<Arc<TraceWrite>, Result<TraceReceipt>>,
    reviews: Groups<Arc<ReviewWrite>, Result<Decision>>,
}

impl Default for Together {
    fn default() -> Self {
        Self {
            // Traces are inserted side by side; reviews lock their project.
            traces: Groups::new(4),
            reviews: Groups::new(1),
        }
    }
}

impl Postgres {
    /// Inserts a trace together with others; `None` if it has to be tried alone.
    pub(super) async fn insert_together(
        &self,
        write: &Arc<TraceWrite>,
    ) -> Option<Result<TraceReceipt>> {
        if matches!(write.intake, Intake::Learned(_)) {
            return None;
        }
        let (group, pool) = (self.together.traces.of(&write.project), self.pool().clone());
        let together = |writes| {
            let pool = pool.clone();
            async move { shared(pool, async |db| insert(db, writes).await).await }
        };
        group.write(Arc::clone(write), together).await
    }

    /// Changes a review together with others; `None` if it has to be tried alone.
    pub(super) async fn review_together(
        &self,
        write: &Arc<ReviewWrite>,
    ) -> Option<Result<Decision>> {
        let (group, pool) = (
            self.together.reviews.of(&write.project),
            self.pool().clone(),
        );
        let together = |writes| {
            let pool = pool.clone();
            async move { shared(pool, async |db| review(db, writes).await).await }
        };
        group.write(Arc::clone(write), together).await
    }
}

/// Runs work in a transaction; `None` if nothing is written.
async fn shared<A>(
    pool: Pool,
    work: impl AsyncFnOnce(&Db<'_>) -> Result<Vec<A>, Fault>,
) -> Option<Vec<Result<A>>> {
    let mut connection = pool.get().await.ok()?;
    let db = Postgres::begin_writing(&mut connection).await.ok()?;
    let answers = work(&db).await.ok()?;
    match db.commit().await {
        Ok(()) => Some(answers.into_iter().map(Ok).collect()),
        // The database says that it did not commit.
        Err(error) if error.code().is_some() => None,
        // It may have.
        Err(_) => Some(answers.iter().map(|_| Err(unreachable(None))).collect()),
    }
}

/// Inserts a trace.
pub(super) async fn insert_one(db: &Db<'_>, write: &TraceWrite) -> Result<TraceReceipt, Fault> {
    let TraceWrite {
        project,
        trace,
        intake,
    } = write;
    let creates = trace.trace.creates_project;
    let project = projects::key_to_fill(db, project, creates).await?;
    traces::insert(db, project, trace, intake).await
}

/// Inserts traces of one project, whose statements are sent without waiting for each other's.
async fn insert(db: &Db<'_>, writes: Vec<Arc<TraceWrite>>) -> Result<Vec<TraceReceipt>, Fault> {
    let Some(first) = writes.first() else {
        return Ok(Vec::new());
    };
    // Of those that arrive together, one that may create the project comes before the others.
    let creates = writes.iter().any(|write| write.trace.trace.creates_project);
    let project = projects::key_to_fill(db, &first.project, creates).await?;
    let each = writes
        .iter()
        .map(|write| traces::insert(db, project, &write.trace, &write.intake));
    try_join_all(each).await
}

/// Changes reviews of a project.
async fn review(db: &Db<'_>, writes: Vec<Arc<ReviewWrite>>) -> Result<Vec<Decision>, Fault> {
    if let Some(first) = writes.first()
        && let Some(project) = projects::lock(db, &first.project).await?
    {
        expect_revisions(db, project, row::limit(writes.len())).await?;
    }
    let writes: Vec<_> = writes
        .iter()
        .map(|write| (&write.project, &write.trace, &write.action))
        .collect();
    reviewing::review_all(db, &writes).await
}
