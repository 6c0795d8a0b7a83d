use reflect_types::{CreateTrace, MemoryId, Review, Trajectory, Verdict};
use serde_json::Value;

use super::ReflectClient;
use super::augment::AugmentedTask;
use super::call::Call;

impl<M> ReflectClient<M> {
    /// Stores a run and returns once it is stored. A review is processed in the background.
    ///
    /// Pass the memories that the run was given to [`retrieved`](Call::retrieved): without them the
    /// review has nothing to credit.
    ///
    /// ```no_run
    /// use reflect_sdk::{Message, ReflectClient};
    ///
    /// async fn record(client: &ReflectClient) -> reflect_sdk::Result<()> {
    ///     let receipt = client
    ///         .create_trace("Refund order 7", vec![Message::assistant("Done.")])
    ///         .retrieved(["mem-1", "mem-2"])
    ///         .model("gpt-5.4-mini")
    ///         .metadata("customer", "acme")
    ///         .pass()
    ///         .await?;
    ///     println!("{} is {}", receipt.trace_id, receipt.ingest_status);
    ///     Ok(())
    /// }
    /// ```
    pub fn create_trace(
        &self,
        task: impl Into<String>,
        trajectory: impl Into<Trajectory>,
    ) -> Call<CreateTrace, M> {
        self.call(CreateTrace {
            idempotency_key: Some(idempotency_key()),
            ..CreateTrace::new(task, trajectory)
        })
    }
}

/// A new key, which names one submission.
pub(crate) fn idempotency_key() -> String {
    uuid::Uuid::new_v4().to_string()
}

/// A call that stores a run.
pub trait HasTrace {
    #[doc(hidden)]
    fn trace(&mut self) -> &mut CreateTrace;
}

impl HasTrace for CreateTrace {
    fn trace(&mut self) -> &mut CreateTrace {
        self
    }
}

/// The options of [`ReflectClient::create_trace`] and [`ReflectClient::create_trace_and_wait`].
impl<A: HasTrace, M> Call<A, M> {
    /// The memories that the run was given; its review moves their utility.
    pub fn retrieved(self, ids: impl IntoIterator<Item = impl Into<MemoryId>>) -> Self {
        let ids = ids.into_iter().map(Into::into).collect();
        self.set_trace(|trace| trace.retrieved_memory_ids = ids)
    }

    /// What the run was given: the ids of the memories, as in [`retrieved`](Self::retrieved), and the arm
    /// of the comparison, if there is one.
    pub fn given(self, augmented: &AugmentedTask) -> Self {
        self.retrieved(augmented.memory_ids())
            .set_trace(|trace| trace.arm.clone_from(&augmented.arm))
    }

    /// The model that ran.
    pub fn model(self, model: impl Into<String>) -> Self {
        self.set_trace(|trace| trace.model = Some(model.into()))
    }

    /// Adds to the metadata, which the memory inherits.
    pub fn metadata(self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.set_trace(|trace| {
            trace.metadata.insert(key.into(), value.into());
        })
    }

    /// The answer; the last assistant message by default.
    pub fn final_response(self, response: impl Into<String>) -> Self {
        self.set_trace(|trace| trace.final_response = Some(response.into()))
    }

    /// The policy or rules the run worked under, for the reflection.
    pub fn reference_context(self, context: impl Into<String>) -> Self {
        self.set_trace(|trace| trace.reference_context = Some(context.into()))
    }

    /// Reviews the run as passed.
    pub fn pass(self) -> Self {
        self.review(Review::pass())
    }

    /// Reviews the run as failed; `feedback` says what was wrong, so be specific.
    pub fn fail(self, feedback: impl Into<String>) -> Self {
        self.review(Review::fail(feedback))
    }

    /// Reviews the run. Without a review it is pending.
    pub fn review(self, review: impl Into<Review>) -> Self {
        let mut review = review.into();
        self.set_trace(|trace| {
            let before = trace.review.take().and_then(|before| before.alpha);
            review.alpha = review.alpha.or(before);
            trace.review = Some(review);
        })
    }

    /// How far the review moves the retrieved memories, from 0 to 1; the server's choice by default.
    /// It needs a review.
    pub fn alpha(self, alpha: f64) -> Self {
        self.set_trace(|trace| {
            // Without a verdict the review is refused before anything is sent.
            let review = trace.review.take();
            let review = review.unwrap_or_else(|| Review::new(Verdict::Unknown));
            trace.review = Some(review.alpha(alpha));
        })
    }

    /// A key of your own, under which the run is stored at most once; a new one by default.
    pub fn idempotency_key(self, key: impl Into<String>) -> Self {
        self.set_trace(|trace| trace.idempotency_key = Some(key.into()))
    }

    fn set_trace(self, change: impl FnOnce(&mut CreateTrace)) -> Self {
        self.set(|action| change(action.trace()))
    }
}
