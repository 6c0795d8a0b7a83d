//! Lists for people: traces without their long fields, and what to review first.

use reflect_types::{MemoryId, MemoryRecord, Page, ProjectId, TraceOverview, Validate as _};

use super::handle::Engine;
use crate::error::Result;
use crate::learn::review_value::{self, ReviewReason, Tested};
use crate::store::{TraceSearch, WaitingTrace};

/// The traces that are compared for the queue: the newest ones.
const MAX_COMPARED: usize = 500;

/// A trace that waits for a person's review, and what the review would teach.
#[derive(Clone, Debug, PartialEq)]
pub struct QueuedReview {
    /// The trace.
    pub waiting: WaitingTrace,
    /// Why it has its place in the queue.
    pub reason: ReviewReason,
}

impl Engine {
    /// A page of the traces that match a search, newest first, without their long fields.
    pub async fn browse_traces(
        &self,
        project: &ProjectId,
        search: &TraceSearch,
    ) -> Result<Page<TraceOverview>> {
        let core = self.checked(project, project)?;
        if let Some(before) = &search.before {
            before.validate()?;
        }
        core.store.browse_traces(project, search).await
    }

    /// The models of the project's traces, sorted.
    pub async fn trace_models(&self, project: &ProjectId) -> Result<Vec<String>> {
        let core = self.checked(project, project)?;
        core.store.trace_models(project).await
    }

    /// The memories of these ids, in their order, without those that are deleted.
    pub async fn find_memories(
        &self,
        project: &ProjectId,
        ids: &[MemoryId],
    ) -> Result<Vec<MemoryRecord>> {
        let core = self.checked(project, project)?;
        let found = core.store.find_memories(project, ids).await?;
        let records = found.into_iter().map(|(_, record)| record.neutral());
        Ok(records.collect())
    }

    /// The number of traces without a review, at most [`TraceSearch::MAX_COUNTED`].
    pub async fn count_waiting(&self, project: &ProjectId) -> Result<u64> {
        let core = self.checked(project, project)?;
        core.store.count_waiting(project).await
    }

    /// The traces that wait for a person's review, those first that would teach most: the newest 500
    /// without a review, and the newest 500 that only a model has reviewed.
    pub async fn review_queue(&self, project: &ProjectId) -> Result<Vec<QueuedReview>> {
        let core = self.checked(project, project)?;
        let waiting = core.store.waiting_traces(project, MAX_COMPARED).await?;
        Ok(most_valuable_first(waiting))
    }
}

/// The traces whose review would teach most first; among equals, in their order.
fn most_valuable_first(waiting: Vec<WaitingTrace>) -> Vec<QueuedReview> {
    let valued = waiting.into_iter().map(|waiting| {
        let tested = waiting.memories.iter().map(|memory| Tested {
            q_value: memory.q_value,
            uses: memory.uses,
        });
        let tested: Vec<_> = tested.collect();
        let value = review_value::value(&tested, waiting.suggestion.is_some());
        let reason = review_value::reason(&tested);
        (value, QueuedReview { waiting, reason })
    });
    let mut valued: Vec<_> = valued.collect();
    valued.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    valued.into_iter().map(|(_, queued)| queued).collect()
}
