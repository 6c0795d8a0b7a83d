use reflect_types::{
    DeleteTraces, GetTrace, IngestStatus, ListOrder, ListTraces, RetryTrace, ReviewStatus, TraceId,
};

use super::ReflectClient;
use super::call::Call;

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

impl<M> Call<ListTraces, M> {
    /// Only traces without a review.
    pub fn pending(self) -> Self {
        self.set(|list| list.review_status = Some(ReviewStatus::Pending))
    }

    /// Only traces with a review.
    pub fn reviewed(self) -> Self {
        self.set(|list| list.review_status = Some(ReviewStatus::Reviewed))
    }

    /// Only traces whose ingestion failed; [`retry_trace`](ReflectClient::retry_trace) queues them
    /// again.
    pub fn failed(self) -> Self {
        self.set(|list| list.ingest_status = Some(IngestStatus::Failed))
    }

    /// The maximum number of traces, from 1 to 1,000; 100 by default.
    pub fn limit(self, limit: u32) -> Self {
        self.set(|list| list.limit = Some(limit))
    }

    /// Only traces older than this one, for the next page.
    pub fn before(self, trace: impl Into<TraceId>) -> Self {
        self.set(|list| list.before = Some(trace.into()))
    }

    /// Lists the oldest traces first.
    pub fn oldest_first(self) -> Self {
        self.set(|list| list.order = Some(ListOrder::Oldest))
    }

    /// Only traces newer than this one, oldest first, for the next page.
    pub fn after(self, trace: impl Into<TraceId>) -> Self {
        self.set(|list| list.after = Some(trace.into()))
    }
}

impl<M> Call<DeleteTraces, M> {
    /// Also removes the memories made from them.
    pub fn and_memories(self) -> Self {
        self.set(|delete| delete.delete_memories = true)
    }
}
