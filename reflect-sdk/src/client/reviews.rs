use reflect_types::{ChangeReview, Review, ReviewByKey, ReviewTrace, TraceId, WithdrawReview};
use serde_json::Value;

use super::ReflectClient;
use super::call::Call;

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
    ///
    /// ```no_run
    /// use reflect_sdk::{ReflectClient, Review};
    ///
    /// async fn thumbs_down(client: &ReflectClient, ticket: &str) -> reflect_sdk::Result<()> {
    ///     let review = Review::fail("The customer came back");
    ///     client.review_by_metadata("ticket", ticket, review).matching("team", "eu").await?;
    ///     Ok(())
    /// }
    /// ```
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
