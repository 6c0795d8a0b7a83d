//! The bank of the tools on a client: of a file, or of a server.

use async_trait::async_trait;
use reflect_sdk::{Error, ReflectClient};
use reflect_server::mcp::{Bank, Recorded};
use reflect_types::{
    CreateTrace, IngestStatus, Memory, Operation, QueryMemories, Review, ReviewTrace, Skill, Trace,
    TraceId,
};

/// A client as the bank of the tools.
#[derive(Debug)]
pub(super) struct ClientBank(pub(super) ReflectClient);

#[async_trait]
impl Bank for ClientBank {
    async fn query(&self, query: QueryMemories) -> Result<Vec<Memory>, String> {
        self.0.request(query).await.map_err(|error| told(&error))
    }

    async fn record(&self, run: CreateTrace) -> Result<Recorded, String> {
        let has_review = run.review.is_some();
        let lowered = |run: &CreateTrace| {
            let mut run = run.clone();
            run.review.as_mut()?.alpha.take()?;
            Some(run)
        };
        let stored = self.within_limits(run, lowered).await?;
        let mut memory_id = None;
        if has_review && stored.ingest_status == IngestStatus::Completed {
            // A key that may only write is not told.
            let trace = self.0.get_trace(&stored.trace_id).await;
            let trace = trace.inspect_err(|error| tracing::debug!(%error, "its memory is unknown"));
            memory_id = trace.ok().and_then(|trace| trace.created_memory_id);
        }
        Ok(Recorded {
            trace_id: stored.trace_id,
            ingest_status: stored.ingest_status,
            memory_id,
        })
    }

    async fn review(&self, run: &TraceId, review: Review) -> Result<Trace, String> {
        let lowered = |review: &ReviewTrace| {
            let mut review = review.clone();
            review.review.alpha.take()?;
            Some(review)
        };
        self.within_limits(ReviewTrace::new(run, review), lowered)
            .await
    }

    async fn skill(&self) -> Result<Option<Skill>, String> {
        self.0.get_skill().await.map_err(|error| told(&error))
    }
}

impl ClientBank {
    /// Sends a review. One whose `alpha` is refused, because it is over a limit of the key or the
    /// project, is sent without it, and gets that limit.
    async fn within_limits<O: Operation + 'static>(
        &self,
        request: O,
        lowered: impl FnOnce(&O) -> Option<O>,
    ) -> Result<O::Reply, String> {
        let refused = match self.0.request(request.clone()).await {
            Ok(reply) => return Ok(reply),
            Err(error) => error,
        };
        match lowered(&request) {
            Some(request) if is_about_alpha(&refused) => {
                self.0.request(request).await.map_err(|error| told(&error))
            }
            _ => Err(told(&refused)),
        }
    }
}

fn is_about_alpha(error: &Error) -> bool {
    let Error::Api(error) = error else {
        return false;
    };
    matches!(error.field.as_deref(), Some("alpha" | "review.alpha"))
}

/// The error as the agent reads it.
fn told(error: &Error) -> String {
    tracing::debug!(%error, "refused");
    error.to_string()
}
