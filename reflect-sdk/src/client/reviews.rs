use reflect_types::{ChangeReview, Review, ReviewTrace, TraceId, WithdrawReview};

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

    /// Replaces the review of a trace. Its memory is rewritten, and utilities become what they would
    /// be with this review from the start.
    ///
    /// ```no_run
    /// use reflect_sdk::{ReflectClient, Review};
    ///
    /// async fn correct(client: &ReflectClient, id: &str) -> reflect_sdk::Result<()> {
    ///     client.change_review(id, Review::fail("The customer came back")).await?;
    ///     Ok(())
    /// }
    /// ```
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
