use std::time::Duration;

use reflect_types::{
    CreateTrace, InvalidField, MemoryId, Review, Trace, TraceId, Trajectory, Usage, Validate,
    Verdict,
};
use serde_json::Value;

use super::ReflectClient;
use super::augment::AugmentedTask;
use super::call::{Action, Call, CallContext};
use crate::core::{Polling, wait_for};
use crate::error::Result;

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

    /// The tokens that the run has read and written, in all its calls of models.
    pub fn usage(self, input_tokens: u64, output_tokens: u64) -> Self {
        self.set_trace(|trace| trace.usage = Some(Usage::new(input_tokens, output_tokens)))
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

    /// The run that this one was a part of, by its [ID](crate::TraceContext::run_id).
    pub fn parent_run(self, run_id: impl Into<String>) -> Self {
        self.set_trace(|trace| trace.parent_run_id = Some(run_id.into()))
    }

    /// The conversation, ticket or job that the run belongs to.
    pub fn session(self, id: impl Into<String>) -> Self {
        self.set_trace(|trace| trace.session_id = Some(id.into()))
    }

    /// A key of your own, under which the run is stored at most once, and which is its ID; a new one by default.
    pub fn idempotency_key(self, key: impl Into<String>) -> Self {
        self.set_trace(|trace| trace.idempotency_key = Some(key.into()))
    }

    fn set_trace(self, change: impl FnOnce(&mut CreateTrace)) -> Self {
        self.set(|action| change(action.trace()))
    }
}

/// Waits for a trace; see [`ReflectClient::wait_for_trace`].
#[derive(Clone, Debug)]
pub struct WaitForTrace {
    id: TraceId,
    require_reviewed: bool,
    polling: Polling,
}

/// Stores a run and waits for it; see [`ReflectClient::create_trace_and_wait`].
#[derive(Clone, Debug)]
pub struct CreateTraceAndWait {
    trace: CreateTrace,
    polling: Polling,
}

impl<M> ReflectClient<M> {
    /// Stores a run and waits until its memory exists or, without a review, until it is stored.
    ///
    /// The same as [`create_trace`](Self::create_trace) followed by [`wait`](Call::wait), with the
    /// options of both.
    pub fn create_trace_and_wait(
        &self,
        task: impl Into<String>,
        trajectory: impl Into<Trajectory>,
    ) -> Call<CreateTraceAndWait, M> {
        self.create_trace(task, trajectory).wait()
    }

    /// Waits until a trace is stored or, with [`require_reviewed`](Call::require_reviewed), until its
    /// memory exists.
    ///
    /// A trace that is not stored yet is waited for. One whose ingestion failed is
    /// [`Error::IngestFailed`](crate::Error::IngestFailed) with the server's reason. After the
    /// timeout, and at least one check, it is [`Error::Timeout`](crate::Error::Timeout).
    pub fn wait_for_trace(&self, trace: impl Into<TraceId>) -> Call<WaitForTrace, M> {
        self.call(WaitForTrace {
            id: trace.into(),
            require_reviewed: false,
            polling: Polling::default(),
        })
    }
}

impl<M> Call<CreateTrace, M> {
    /// Waits until the memory exists or, without a review, until the run is stored.
    pub fn wait(self) -> Call<CreateTraceAndWait, M> {
        self.map(|trace| CreateTraceAndWait {
            trace,
            polling: Polling::default(),
        })
    }
}

impl<M> Call<WaitForTrace, M> {
    /// Waits until the trace is reviewed and its memory exists.
    pub fn require_reviewed(self) -> Self {
        self.set(|wait| wait.require_reviewed = true)
    }
}

/// A call that polls a trace.
pub trait Polls {
    #[doc(hidden)]
    fn set_interval(&mut self, interval: Duration);
    #[doc(hidden)]
    fn set_timeout(&mut self, timeout: Duration);
}

macro_rules! polls {
    ($($action:ident),+) => {$(
        impl Polls for $action {
            fn set_interval(&mut self, interval: Duration) {
                self.polling.set_interval(interval);
            }

            fn set_timeout(&mut self, timeout: Duration) {
                self.polling.timeout = timeout;
            }
        }
    )+};
}

polls!(WaitForTrace, CreateTraceAndWait);

/// The options of [`ReflectClient::wait_for_trace`] and [`ReflectClient::create_trace_and_wait`].
impl<A: Polls, M> Call<A, M> {
    /// The pause between two checks; 250 ms by default.
    pub fn poll_interval(self, interval: Duration) -> Self {
        self.set(|action| action.set_interval(interval))
    }

    /// The time limit; 60 s by default.
    pub fn timeout(self, timeout: Duration) -> Self {
        self.set(|action| action.set_timeout(timeout))
    }
}

impl HasTrace for CreateTraceAndWait {
    fn trace(&mut self) -> &mut CreateTrace {
        &mut self.trace
    }
}

impl Action for WaitForTrace {
    type Output = Trace;

    fn check(&self) -> Result<(), InvalidField> {
        self.id.validate()
    }

    async fn run(self, CallContext(core): CallContext) -> Result<Trace> {
        wait_for(&core, &self.id, self.require_reviewed, self.polling).await
    }

    fn extra_time(&self) -> Duration {
        self.polling.timeout
    }
}

impl Action for CreateTraceAndWait {
    type Output = Trace;

    fn check(&self) -> Result<(), InvalidField> {
        self.trace.validate()
    }

    async fn run(self, CallContext(core): CallContext) -> Result<Trace> {
        let reviewed = self.trace.review.is_some();
        let receipt = core.call(self.trace).await?;
        wait_for(&core, &receipt.trace_id, reviewed, self.polling).await
    }

    fn extra_time(&self) -> Duration {
        self.polling.timeout
    }
}
