use reflect_types::{
    CreateTrace, InvalidField, MemoryId, Metadata, Review, TraceReceipt, Trajectory, Validate,
};
use serde_json::Value;

use super::ReflectClient;
use super::call::{Call, CallContext, Operation};
use super::idempotency::idempotency_key;
use crate::error::Result;

/// Records a run; see [`ReflectClient::create_trace`].
#[derive(Clone, Debug)]
pub struct Record {
    trace: CreateTrace,
    alpha: Option<f64>,
    idempotency_key: String,
}

impl<M> ReflectClient<M> {
    /// Records a run and returns as soon as it is stored; a review is worked on behind the scenes.
    ///
    /// Pass the memories the run was given with [`retrieved`](Call::retrieved): without them the
    /// review has nothing to credit.
    ///
    /// ```no_run
    /// # use reflect_sdk::Message;
    /// # async fn run(client: reflect_sdk::ReflectClient) -> reflect_sdk::Result<()> {
    /// let receipt = client
    ///     .create_trace("Refund order 7", vec![Message::assistant("Done.")])
    ///     .retrieved(["mem-1", "mem-2"])
    ///     .model("gpt-5.4-mini")
    ///     .metadata("customer", "acme")
    ///     .pass()
    ///     .await?;
    /// println!("{} is {}", receipt.trace_id, receipt.ingest_status);
    /// # Ok(())
    /// # }
    /// ```
    pub fn create_trace(
        &self,
        task: impl Into<String>,
        trajectory: impl Into<Trajectory>,
    ) -> Call<Record, M> {
        self.call(Record {
            trace: CreateTrace::new(task, trajectory),
            alpha: None,
            idempotency_key: idempotency_key(),
        })
    }
}

/// The options of a recorded run; the same for [`ReflectClient::create_trace`] and
/// [`ReflectClient::create_trace_and_wait`].
impl<O: AsMut<Record>, M> Call<O, M> {
    /// The memories the run was given; its review moves their utility.
    pub fn retrieved(self, ids: impl IntoIterator<Item = impl Into<MemoryId>>) -> Self {
        let ids = ids.into_iter().map(Into::into).collect();
        self.record(|record| record.trace.retrieved_memory_ids = ids)
    }

    /// The model that did it.
    pub fn model(self, model: impl Into<String>) -> Self {
        self.record(|record| record.trace.model = Some(model.into()))
    }

    /// Adds to the metadata, which the memory inherits.
    pub fn metadata(self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.record(|record| {
            record.trace.metadata.insert(key.into(), value.into());
        })
    }

    /// Replaces the metadata as a whole.
    pub fn all_metadata(self, metadata: Metadata) -> Self {
        self.record(|record| record.trace.metadata = metadata)
    }

    /// The answer; the last assistant message unless set.
    pub fn final_response(self, response: impl Into<String>) -> Self {
        self.record(|record| record.trace.final_response = Some(response.into()))
    }

    /// The policy or rules the run worked under, for the reflection.
    pub fn reference_context(self, context: impl Into<String>) -> Self {
        self.record(|record| record.trace.reference_context = Some(context.into()))
    }

    /// The run did what it should.
    pub fn pass(self) -> Self {
        self.review(Review::pass())
    }

    /// The run did not; `feedback` says what was wrong, so be specific.
    pub fn fail(self, feedback: impl Into<String>) -> Self {
        self.review(Review::fail(feedback))
    }

    /// The judgement as a whole; without one the review is left for later.
    pub fn review(self, review: impl Into<Review>) -> Self {
        self.record(|record| record.trace.review = Some(review.into()))
    }

    /// How far the review moves the retrieved memories, from 0 to 1. It needs a verdict.
    pub fn alpha(self, alpha: f64) -> Self {
        self.record(|record| record.alpha = Some(alpha))
    }

    /// A key of your own, under which the run is stored at most once; a fresh one unless set.
    pub fn idempotency_key(self, key: impl Into<String>) -> Self {
        self.record(|record| record.idempotency_key = key.into())
    }

    fn record(self, change: impl FnOnce(&mut Record)) -> Self {
        self.set(|operation| change(operation.as_mut()))
    }
}

impl AsMut<Record> for Record {
    fn as_mut(&mut self) -> &mut Record {
        self
    }
}

impl Record {
    /// Whether there is a verdict, so that a memory will come of it.
    pub(super) fn is_reviewed(&self) -> bool {
        self.trace.review.is_some()
    }
}

impl Operation for Record {
    type Output = TraceReceipt;

    fn check(&self) -> Result<(), InvalidField> {
        match (&self.trace.review, self.alpha) {
            (None, Some(_)) => {
                return Err(InvalidField::new(
                    "alpha",
                    "needs a verdict: add `.pass()` or `.fail(…)`, or leave alpha out",
                ));
            }
            (Some(_), Some(alpha)) => Review::pass().alpha(alpha).validate()?,
            _ => {}
        }
        if self.idempotency_key.trim().is_empty() {
            return Err(InvalidField::new(
                "idempotency_key",
                "is empty: leave it out",
            ));
        }
        self.trace.validate()
    }

    async fn run(mut self, CallContext(core): CallContext) -> Result<TraceReceipt> {
        if let (Some(review), Some(alpha)) = (&mut self.trace.review, self.alpha) {
            review.alpha = Some(alpha);
        }
        let (trace, key) = (&self.trace, &self.idempotency_key);
        core.send(|| core.transport().create_trace(&core.project, trace, key))
            .await
    }
}
