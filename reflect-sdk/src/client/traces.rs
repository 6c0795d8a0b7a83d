use reflect_types::{
    ChangeReview, CreateSkill, DeleteTraces, GetSkill, GetTrace, GetTraceTree, IngestStatus,
    ListOrder, ListTraces, RetryTrace, Review, ReviewByKey, ReviewStatus, ReviewTrace, TraceId,
    WithdrawReview,
};
use serde_json::Value;

use super::ReflectClient;
use super::call::{Call, options};

impl<M> ReflectClient<M> {
    /// Stored traces, newest first.
    ///
    /// ```no_run
    /// use reflect_sdk::ReflectClient;
    ///
    /// async fn pending(client: &ReflectClient) -> reflect_sdk::Result<()> {
    ///     let newest = client.list_traces().pending().limit(20).await?;
    ///     if let (true, Some(last)) = (newest.more, newest.last()) {
    ///         let older = client.list_traces().pending().before(&last.id).await?;
    ///         println!("{} and {} more", newest.len(), older.len());
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn list_traces(&self) -> Call<ListTraces, M> {
        self.call(ListTraces::default())
    }

    /// One stored trace. An unknown id is an error with [`status`](crate::Error::status) 404.
    pub fn get_trace(&self, trace: impl Into<TraceId>) -> Call<GetTrace, M> {
        self.call(GetTrace::new(trace))
    }

    /// A trace with the runs that it is a part of, and those within it.
    pub fn get_trace_tree(&self, trace: impl Into<TraceId>) -> Call<GetTraceTree, M> {
        self.call(GetTraceTree::new(trace))
    }

    /// Retries the failed ingestion of a trace.
    pub fn retry_trace(&self, trace: impl Into<TraceId>) -> Call<RetryTrace, M> {
        self.call(RetryTrace::new(trace))
    }

    /// Removes traces. Their memories stay, unless [`and_memories`](Call::and_memories) is set.
    pub fn delete_traces(
        &self,
        traces: impl IntoIterator<Item = impl Into<TraceId>>,
    ) -> Call<DeleteTraces, M> {
        self.call(DeleteTraces {
            trace_ids: traces.into_iter().map(Into::into).collect(),
            delete_memories: false,
        })
    }
}

options! { ListTraces, list:
    /// Only traces without a review.
    pending() => list.review_status = Some(ReviewStatus::Pending);

    /// Only traces with a review.
    reviewed() => list.review_status = Some(ReviewStatus::Reviewed);

    /// Only traces whose ingestion failed; [`retry_trace`](ReflectClient::retry_trace) queues them
    /// again.
    failed() => list.ingest_status = Some(IngestStatus::Failed);

    /// Only traces of this session.
    session(id: impl Into<String>) => list.session_id = Some(id.into());

    /// The maximum number of traces, from 1 to 1,000; 100 by default.
    limit(limit: u32) => list.limit = Some(limit);

    /// Only traces older than this one, for the next page.
    before(trace: impl Into<TraceId>) => list.before = Some(trace.into());

    /// Lists the oldest traces first.
    oldest_first() => list.order = Some(ListOrder::Oldest);

    /// Only traces newer than this one, oldest first, for the next page.
    after(trace: impl Into<TraceId>) => list.after = Some(trace.into());
}

impl<M> Call<DeleteTraces, M> {
    /// Also removes the memories made from them.
    pub fn and_memories(self) -> Self {
        self.set(|delete| delete.delete_memories = true)
    }
}

impl<M> ReflectClient<M> {
    /// Reviews a stored trace. The reply holds the memory made from it.
    ///
    /// ```no_run
    /// use reflect_sdk::{ReflectClient, Review};
    ///
    /// async fn review(client: &ReflectClient, id: &str) -> reflect_sdk::Result<()> {
    ///     let review = Review::fail("Missed the revenue decline in Q3");
    ///     let trace = client.review_trace(id, review).await?;
    ///     println!("learned {:?}", trace.created_memory_id);
    ///     Ok(())
    /// }
    /// ```
    pub fn review_trace(
        &self,
        trace: impl Into<TraceId>,
        review: impl Into<Review>,
    ) -> Call<ReviewTrace, M> {
        self.call(ReviewTrace::new(trace, review))
    }

    /// Reviews the trace with this idempotency key. An unknown one is an error with the status 404.
    pub fn review_by_key(
        &self,
        idempotency_key: impl Into<String>,
        review: impl Into<Review>,
    ) -> Call<ReviewByKey, M> {
        self.call(ReviewByKey::new(idempotency_key, review))
    }

    /// Reviews the only trace with this value in its metadata, or the only one of them without a review.
    /// None is an error with the status 404, several are one with 409 that names them.
    pub fn review_by_metadata(
        &self,
        name: impl Into<String>,
        value: impl Into<Value>,
        review: impl Into<Review>,
    ) -> Call<ReviewByKey, M> {
        self.call(ReviewByKey::matching(name, value, review))
    }

    /// Replaces the review of a trace. Its memory is rewritten, and utilities become what they would
    /// be with this review from the start.
    pub fn change_review(
        &self,
        trace: impl Into<TraceId>,
        review: impl Into<Review>,
    ) -> Call<ChangeReview, M> {
        self.call(ChangeReview::new(trace, review))
    }

    /// Withdraws the review of a trace. Its memory is set aside, utilities become what they would be
    /// without the review, and the trace is pending again.
    pub fn withdraw_review(&self, trace: impl Into<TraceId>) -> Call<WithdrawReview, M> {
        self.call(WithdrawReview::new(trace))
    }
}

impl<M> Call<ReviewByKey, M> {
    /// Asks for this value in the metadata of the trace too.
    pub fn matching(self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.set(|by_key| {
            by_key.metadata.insert(name.into(), value.into());
        })
    }
}

impl<M> ReflectClient<M> {
    /// The project's skill: its memories condensed into one guide. `None` before the first one is
    /// written.
    pub fn get_skill(&self) -> Call<GetSkill, M> {
        self.call(GetSkill)
    }

    /// Writes a new version of the skill.
    pub fn create_skill(&self) -> Call<CreateSkill, M> {
        self.call(CreateSkill::default())
    }
}

options! { CreateSkill, skill:
    /// The number of memories of passed runs to read; 5 by default.
    n_passed(n: u32) => skill.n_passed = Some(n);

    /// The number of memories of failed runs to read; 5 by default.
    n_failed(n: u32) => skill.n_failed = Some(n);
}
