//! Storing, reading, retrying and deleting traces.

use reflect_types::{
    CreateTrace, CreateTraces, DeleteTraces, DeletedTraces, IngestStatus, ListTraces, ModelVerdict,
    Page, ProjectId, Review, ReviewMode, Trace, TraceId, TraceReceipt,
};

use super::handle::Engine;
use crate::error::{Error, Result, in_order, only};
use crate::jobs;
use crate::review::{NewReview, Refusal};
use crate::store::{Intake, NewTrace, TraceDeletion, Undecoded};

impl Engine {
    /// Stores a trace. With a review, it becomes a memory in the background; if the review brings
    /// its own reflection, the memory is stored immediately.
    ///
    /// A repeated [`idempotency_key`](CreateTrace::idempotency_key) stores nothing and returns the
    /// first receipt, even if the rest of the request differs, as long as its trace exists.
    pub async fn create_trace(
        &self,
        project: &ProjectId,
        trace: CreateTrace,
    ) -> Result<TraceReceipt> {
        only(self.store(project, vec![trace]).await)
    }

    /// Stores traces together, each as [`create_trace`](Self::create_trace) does: one that is refused keeps no other
    /// from being stored.
    pub async fn create_traces(
        &self,
        project: &ProjectId,
        traces: Vec<CreateTrace>,
    ) -> Result<Vec<Result<TraceReceipt>>> {
        CreateTraces::check_count(traces.len()).map_err(Error::Invalid)?;
        Ok(self.store(project, traces).await)
    }

    /// The receipts of traces, in their order.
    async fn store(
        &self,
        project: &ProjectId,
        traces: Vec<CreateTrace>,
    ) -> Vec<Result<TraceReceipt>> {
        let core = self.core();
        let mut taken = Vec::with_capacity(traces.len());
        for trace in traces {
            taken.push(self.intake(project, trace).await);
        }
        let mut refused = Vec::with_capacity(taken.len());
        let mut new = Vec::with_capacity(taken.len());
        for taken in taken {
            refused.push(taken.map(|taken| new.push(taken)).err());
        }
        let has = |kind: fn(&Intake) -> bool| new.iter().any(|(_, intake)| kind(intake));
        let queues = [
            (
                &core.work,
                has(|intake| matches!(intake, Intake::Queued(_))),
            ),
            (
                &core.unjudged,
                has(|intake| matches!(intake, Intake::Unjudged)),
            ),
        ];
        let stored = core.store.insert_traces(project, new).await;
        for (queue, has_more) in queues {
            if has_more {
                queue.notify_one();
            }
        }
        in_order(refused, stored)
    }

    /// A trace by its id.
    pub async fn get_trace(&self, project: &ProjectId, id: &TraceId) -> Result<Trace> {
        let core = self.checked(project, id)?;
        let found = core.store.trace(project, id).await?;
        found.ok_or_else(|| no_trace(id))
    }

    /// Like [`get_trace`](Self::get_trace), the long fields undecoded.
    pub async fn get_trace_json(
        &self,
        project: &ProjectId,
        id: &TraceId,
    ) -> Result<Undecoded<Trace>> {
        let core = self.checked(project, id)?;
        let found = core.store.trace_json(project, id).await?;
        found.ok_or_else(|| no_trace(id))
    }

    /// A page of traces, newest first unless the request says otherwise.
    pub async fn list_traces(&self, project: &ProjectId, list: &ListTraces) -> Result<Page<Trace>> {
        let Page { items, more } = self.list_traces_json(project, list).await?;
        let items = items.into_iter().map(Undecoded::decode);
        Ok(Page {
            items: items.collect::<Result<_>>()?,
            more,
        })
    }

    /// Like [`list_traces`](Self::list_traces), the long fields undecoded.
    pub async fn list_traces_json(
        &self,
        project: &ProjectId,
        list: &ListTraces,
    ) -> Result<Page<Undecoded<Trace>>> {
        let core = self.checked(project, list)?;
        core.store.list_traces_json(project, list).await
    }

    /// Retries the failed ingestion of a trace.
    pub async fn retry_trace(&self, project: &ProjectId, id: &TraceId) -> Result<TraceReceipt> {
        let core = self.checked(project, id)?;
        match core.store.retry_trace(project, id, core.now()).await? {
            Ok(()) => {
                core.work.notify_one();
                Ok(TraceReceipt {
                    trace_id: id.clone(),
                    ingest_status: IngestStatus::Queued,
                })
            }
            Err(Refusal::NoTrace) => Err(no_trace(id)),
            Err(_) => Err(Error::Conflict(format!(
                "the ingestion of trace `{id}` has not failed: there is nothing to retry"
            ))),
        }
    }

    /// Deletes traces. Their memories stay, unless the request includes them; the effects of their reviews
    /// stay until an [`undo`](Self::undo). Through
    /// [`deleting_own_memories_only`](Self::deleting_own_memories_only), memories that another key has
    /// taught stay.
    pub async fn delete_traces(
        &self,
        project: &ProjectId,
        delete: &DeleteTraces,
    ) -> Result<DeletedTraces> {
        let core = self.checked(project, delete)?;
        let deletion = TraceDeletion {
            ids: delete.trace_ids.clone(),
            with_memories: delete.delete_memories,
            author: self.deletes_of(),
            teacher: self.deletes_taught_by(),
            key_id: self.key().cloned(),
            at: core.now(),
        };
        let deleted = core.store.delete_traces(project, deletion).await?;
        Ok(deleted)
    }

    async fn intake(
        &self,
        project: &ProjectId,
        mut trace: CreateTrace,
    ) -> Result<(NewTrace, Intake)> {
        let core = self.checked(project, &trace)?;
        let now = core.now();
        let review = match trace.review.take() {
            Some(review) => {
                let review = self.new_review(project, review, ReviewMode::Inline, None);
                Some(review.await?)
            }
            None => None,
        };
        let new = jobs::new_trace(trace, self.key().cloned(), self.creates_projects(), now);
        let intake = match review {
            None if core.judge.is_some() => Intake::Unjudged,
            None => Intake::Unreviewed,
            Some(review) if review.reflection.is_some() => {
                match jobs::learn_authored(core, project, &new, &review).await {
                    Ok(learned) => Intake::Learned(learned),
                    // Without a working embedder, the review is queued like any other.
                    Err(error) => {
                        tracing::warn!(%project, %error, "a lesson is queued: it cannot be learned at once");
                        Intake::Queued(review)
                    }
                }
            }
            Some(review) => Intake::Queued(review),
        };
        Ok((new, intake))
    }

    pub(super) async fn new_review(
        &self,
        project: &ProjectId,
        review: Review,
        mode: ReviewMode,
        overruled: Option<ModelVerdict>,
    ) -> Result<NewReview> {
        let key = self.key().cloned();
        jobs::new_review(self.core(), project, review, mode, key, overruled).await
    }
}

pub(super) fn no_trace(id: &TraceId) -> Error {
    Error::not_found("trace", id.as_str())
}
