//! Traces and reviews of a project that arrive together share a transaction.

use std::pin::Pin;
use std::sync::Arc;

use deadpool_postgres::Pool;
use reflect_types::TraceReceipt;
use tokio::sync::oneshot;

use super::Postgres;
use super::fault::unreachable;
use super::group::{Group, Groups};
use crate::error::Result;
use crate::review::Decision;
use crate::store::Intake;
use crate::store::sql::batches::{self, ReviewWrite, TraceWrite};
use crate::store::sql::db::Db;
use crate::store::sql::fault::Fault;

/// The writes that wait for a transaction.
pub(super) struct Batching {
    traces: Groups<Arc<TraceWrite>, Result<TraceReceipt>>,
    reviews: Groups<Arc<ReviewWrite>, Result<Decision>>,
}

impl Default for Batching {
    fn default() -> Self {
        Self {
            // Traces are inserted side by side; reviews lock their project.
            traces: Groups::new(4),
            reviews: Groups::new(1),
        }
    }
}

impl Postgres {
    /// Inserts a trace together with others, of which it is one from now on; `None` if it has to be tried alone.
    pub(super) fn insert_together(
        &self,
        write: &Arc<TraceWrite>,
    ) -> impl Future<Output = Option<Result<TraceReceipt>>> + Send + use<'_> {
        let waiting = (!matches!(write.intake, Intake::Learned(_))).then(|| {
            let group = self.batching.traces.of(&write.project);
            let answered = group.enqueue(Arc::clone(write));
            (group, answered)
        });
        async move {
            let (group, answered) = waiting?;
            self.together(&group, answered, |db, writes| {
                Box::pin(batches::insert_all(db, writes))
            })
            .await
        }
    }

    /// Changes a review together with others; `None` if it has to be tried alone.
    pub(super) async fn review_together(
        &self,
        write: &Arc<ReviewWrite>,
    ) -> Option<Result<Decision>> {
        let group = self.batching.reviews.of(&write.project);
        let answered = group.enqueue(Arc::clone(write));
        self.together(&group, answered, |db, writes| {
            Box::pin(batches::review_all(db, writes))
        })
        .await
    }

    async fn together<W, A>(
        &self,
        group: &Group<Arc<W>, Result<A>>,
        answered: oneshot::Receiver<Result<A>>,
        work: Together<W, A>,
    ) -> Option<Result<A>>
    where
        W: Send + Sync + 'static,
        A: Send + 'static,
    {
        let shared = |writes| shared(self.pool().clone(), writes, work);
        group.answer(answered, shared).await
    }
}

/// The work of a transaction on writes that share it.
type Together<W, A> =
    for<'a> fn(
        &'a Db<'a>,
        &'a [Arc<W>],
    ) -> Pin<Box<dyn Future<Output = Result<Vec<A>, Fault>> + Send + 'a>>;

/// Runs work in a transaction; `None` if nothing is written.
async fn shared<W: Send + Sync, A>(
    pool: Pool,
    writes: Vec<Arc<W>>,
    work: Together<W, A>,
) -> Option<Vec<Result<A>>> {
    let done: Result<_, Fault> = async {
        let mut connection = pool.get().await?;
        let session = Postgres::begin_writing(&mut connection).await?;
        let answers = work(&Db::new(&session), &writes).await?;
        Ok((answers, session.commit().await))
    }
    .await;
    match done {
        Ok((answers, Ok(()))) => Some(answers.into_iter().map(Ok).collect()),
        // The database says that it did not commit.
        Ok((_, Err(error))) if error.code().is_some() => None,
        // It may have.
        Ok((answers, Err(_))) => Some(answers.iter().map(|_| Err(unreachable(None))).collect()),
        Err(fault) => {
            // Each is tried alone, and gets the error that is its own.
            tracing::debug!(
                ?fault,
                writes = writes.len(),
                "writes do not share a transaction"
            );
            None
        }
    }
}
