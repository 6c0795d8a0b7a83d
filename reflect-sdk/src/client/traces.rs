use reflect_types::{
    DeleteTraces, DeletedTraces, IngestStatus, InvalidField, ListTraces, Review, ReviewStatus,
    Trace, TraceId, TraceReceipt, Validate,
};

use super::ReflectClient;
use super::call::{Call, CallContext, Operation};
use crate::error::Result;

impl<M> ReflectClient<M> {
    /// Judges a stored run. The trace comes back with the memory that was made of it.
    ///
    /// ```no_run
    /// # use reflect_sdk::Review;
    /// # async fn run(client: reflect_sdk::ReflectClient) -> reflect_sdk::Result<()> {
    /// client.review_trace("0198…", Review::fail("Missed the revenue decline in Q3")).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn review_trace(
        &self,
        trace: impl Into<TraceId>,
        review: impl Into<Review>,
    ) -> Call<ReviewRecorded, M> {
        self.call(ReviewRecorded {
            id: trace.into(),
            review: review.into(),
        })
    }

    /// Judges a run otherwise than before. Its memory is written anew, and the utilities become what
    /// they would be had this been the review from the start.
    ///
    /// ```no_run
    /// # use reflect_sdk::Review;
    /// # async fn run(client: reflect_sdk::ReflectClient) -> reflect_sdk::Result<()> {
    /// client.change_review("0198…", Review::fail("The customer came back")).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn change_review(
        &self,
        trace: impl Into<TraceId>,
        review: impl Into<Review>,
    ) -> Call<ChangeReview, M> {
        self.call(ChangeReview {
            id: trace.into(),
            review: review.into(),
        })
    }

    /// Takes a run's review back: the memory it made goes, and the utilities become what they would
    /// be had it never been given. The run waits for a review again.
    ///
    /// ```no_run
    /// # async fn run(client: reflect_sdk::ReflectClient) -> reflect_sdk::Result<()> {
    /// client.withdraw_review("0198…").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn withdraw_review(&self, trace: impl Into<TraceId>) -> Call<WithdrawReview, M> {
        self.call(WithdrawReview(trace.into()))
    }

    /// Puts a run whose ingestion failed back into the queue.
    ///
    /// ```no_run
    /// # async fn run(client: reflect_sdk::ReflectClient) -> reflect_sdk::Result<()> {
    /// client.retry_trace("0198…").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn retry_trace(&self, trace: impl Into<TraceId>) -> Call<RetryRecord, M> {
        self.call(RetryRecord(trace.into()))
    }

    /// The recorded runs, newest first.
    ///
    /// ```no_run
    /// # async fn run(client: reflect_sdk::ReflectClient) -> reflect_sdk::Result<()> {
    /// let page = client.list_traces().pending().limit(20).await?;
    /// let older = client.list_traces().pending().before(&page[page.len() - 1].id).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn list_traces(&self) -> Call<ListRecords, M> {
        self.call(ListRecords(ListTraces::default()))
    }

    /// One recorded run. An unknown id is an error whose [`status`](crate::Error::status) is 404.
    ///
    /// ```no_run
    /// # async fn run(client: reflect_sdk::ReflectClient) -> reflect_sdk::Result<()> {
    /// println!("{}", client.get_trace("0198…").await?.review_status);
    /// # Ok(())
    /// # }
    /// ```
    pub fn get_trace(&self, trace: impl Into<TraceId>) -> Call<GetRecord, M> {
        self.call(GetRecord(trace.into()))
    }

    /// Removes runs. What was learned from them stays, unless
    /// [`and_memories`](Call::and_memories) says otherwise.
    ///
    /// ```no_run
    /// # async fn run(client: reflect_sdk::ReflectClient) -> reflect_sdk::Result<()> {
    /// let gone = client.delete_traces(["0198…", "0199…"]).and_memories().await?;
    /// println!("{} deleted", gone.deleted);
    /// # Ok(())
    /// # }
    /// ```
    pub fn delete_traces(
        &self,
        traces: impl IntoIterator<Item = impl Into<TraceId>>,
    ) -> Call<DeleteRecords, M> {
        let trace_ids = traces.into_iter().map(Into::into).collect();
        self.call(DeleteRecords(DeleteTraces {
            trace_ids,
            delete_memories: false,
        }))
    }
}

/// Judges a stored run; see [`ReflectClient::review_trace`].
#[derive(Clone, Debug)]
pub struct ReviewRecorded {
    id: TraceId,
    review: Review,
}

impl Operation for ReviewRecorded {
    type Output = Trace;

    fn check(&self) -> Result<(), InvalidField> {
        self.id.validate()?;
        self.review.validate()
    }

    async fn run(self, CallContext(core): CallContext) -> Result<Trace> {
        // Safe to repeat: the same verdict again changes nothing.
        core.send(|| {
            core.transport()
                .review_trace(&core.project, &self.id, &self.review)
        })
        .await
    }
}

/// Judges a run otherwise; see [`ReflectClient::change_review`].
#[derive(Clone, Debug)]
pub struct ChangeReview {
    id: TraceId,
    review: Review,
}

impl Operation for ChangeReview {
    type Output = Trace;

    fn check(&self) -> Result<(), InvalidField> {
        self.id.validate()?;
        self.review.validate()
    }

    async fn run(self, CallContext(core): CallContext) -> Result<Trace> {
        // Safe to repeat: the utilities follow from the reviews that stand, not from their history.
        core.send(|| {
            core.transport()
                .change_review(&core.project, &self.id, &self.review)
        })
        .await
    }
}

/// Takes a review back; see [`ReflectClient::withdraw_review`].
#[derive(Clone, Debug)]
pub struct WithdrawReview(TraceId);

impl Operation for WithdrawReview {
    type Output = Trace;

    fn check(&self) -> Result<(), InvalidField> {
        self.0.validate()
    }

    async fn run(self, CallContext(core): CallContext) -> Result<Trace> {
        core.send_once(|| core.transport().withdraw_review(&core.project, &self.0))
            .await
    }
}

/// Puts a failed ingestion back; see [`ReflectClient::retry_trace`].
#[derive(Clone, Debug)]
pub struct RetryRecord(TraceId);

impl Operation for RetryRecord {
    type Output = TraceReceipt;

    fn check(&self) -> Result<(), InvalidField> {
        self.0.validate()
    }

    async fn run(self, CallContext(core): CallContext) -> Result<TraceReceipt> {
        core.send_once(|| core.transport().retry_trace(&core.project, &self.0))
            .await
    }
}

/// Lists runs; see [`ReflectClient::list_traces`].
#[derive(Clone, Debug)]
pub struct ListRecords(ListTraces);

impl<M> Call<ListRecords, M> {
    /// Only those that wait for a review.
    pub fn pending(self) -> Self {
        self.set(|operation| operation.0.review_status = Some(ReviewStatus::Pending))
    }

    /// Only those that have one.
    pub fn reviewed(self) -> Self {
        self.set(|operation| operation.0.review_status = Some(ReviewStatus::Reviewed))
    }

    /// Only those whose review could not be learned from, which
    /// [`retry_trace`](ReflectClient::retry_trace) tries again.
    pub fn failed(self) -> Self {
        self.set(|operation| operation.0.ingest_status = Some(IngestStatus::Failed))
    }

    /// How many at the most: 1 to 1,000, 100 unless set.
    pub fn limit(self, limit: u32) -> Self {
        self.set(|operation| operation.0.limit = Some(limit))
    }

    /// Only those older than this one, for the next page.
    pub fn before(self, trace: impl Into<TraceId>) -> Self {
        self.set(|operation| operation.0.before = Some(trace.into()))
    }
}

impl Operation for ListRecords {
    type Output = Vec<Trace>;

    fn check(&self) -> Result<(), InvalidField> {
        self.0.validate()
    }

    async fn run(self, CallContext(core): CallContext) -> Result<Vec<Trace>> {
        core.send(|| core.transport().list_traces(&core.project, &self.0))
            .await
    }
}

/// Reads a run; see [`ReflectClient::get_trace`].
#[derive(Clone, Debug)]
pub struct GetRecord(TraceId);

impl Operation for GetRecord {
    type Output = Trace;

    fn check(&self) -> Result<(), InvalidField> {
        self.0.validate()
    }

    async fn run(self, CallContext(core): CallContext) -> Result<Trace> {
        core.send(|| core.transport().get_trace(&core.project, &self.0))
            .await
    }
}

/// Removes runs; see [`ReflectClient::delete_traces`].
#[derive(Clone, Debug)]
pub struct DeleteRecords(DeleteTraces);

impl<M> Call<DeleteRecords, M> {
    /// The memories that were made of them go too.
    pub fn and_memories(self) -> Self {
        self.set(|operation| operation.0.delete_memories = true)
    }
}

impl Operation for DeleteRecords {
    type Output = DeletedTraces;

    fn check(&self) -> Result<(), InvalidField> {
        self.0.validate()
    }

    async fn run(self, CallContext(core): CallContext) -> Result<DeletedTraces> {
        core.send(|| core.transport().delete_traces(&core.project, &self.0))
            .await
    }
}
