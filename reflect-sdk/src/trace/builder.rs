use std::sync::Arc;
use std::time::Duration;

use reflect_types::{Metadata, Ranking};
use serde_json::Value;

use super::ruled::AutoFail;
use crate::client::{Handle, QueryOptions, ReflectClient, query_setters};

impl<M> ReflectClient<M> {
    /// Starts a run that records itself.
    ///
    /// `.await` or [`start_blocking`](TraceBuilder::start_blocking) it for a [`TraceGuard`](crate::TraceGuard), which has
    /// the memories and submits the run when it is dropped. Or give the run a closure as its body, with
    /// [`run`](TraceBuilder::run) or [`run_async`](TraceBuilder::run_async).
    ///
    /// If the retrieval fails or times out, the run starts without memories;
    /// [`strict`](TraceBuilder::strict) makes that an error.
    ///
    /// ```no_run
    /// use reflect_sdk::{ReflectClient, TraceOutput};
    ///
    /// async fn summarize(client: &ReflectClient) {
    ///     let run = client.trace("Summarize the quarterly report").limit(5).await;
    ///     let reply = my_agent(run.augmented_task()).await;
    ///     run.set_output(TraceOutput::new(reply).fail("Missed the revenue decline in Q3"));
    /// }
    ///
    /// async fn my_agent(task: &str) -> String {
    ///     task.to_uppercase()
    /// }
    /// ```
    ///
    /// In a function that returns early with `?`, prefer `run` or `run_async`: they record the error,
    /// which [a guard does not see](crate::TraceGuard#early-returns).
    pub fn trace(&self, task: impl Into<String>) -> TraceBuilder {
        TraceBuilder {
            client: Arc::clone(self.handle()),
            task: task.into(),
            query: QueryOptions::default(),
            retrieve: true,
            retrieval_timeout: self.core().settings.retrieval_timeout,
            options: Options::default(),
        }
    }
}

/// A run to start; see [`ReflectClient::trace`].
#[derive(Clone, Debug)]
#[must_use = "a run starts when it is awaited, or with `.start_blocking()` or `.run(…)`"]
pub struct TraceBuilder {
    pub(super) client: Arc<Handle>,
    pub(super) task: String,
    pub(super) query: QueryOptions,
    pub(super) retrieve: bool,
    pub(super) retrieval_timeout: Duration,
    pub(super) options: Options,
}

impl TraceBuilder {
    fn set_query(mut self, change: impl FnOnce(&mut QueryOptions)) -> Self {
        change(&mut self.query);
        self
    }

    /// Replaces all options of the query for memories.
    pub fn query(mut self, options: QueryOptions) -> Self {
        self.query = options;
        self
    }

    query_setters!();

    /// The share of such runs, from 0 to 1, that are given no memories, for comparison; by default that
    /// of [the client](crate::ClientBuilder::control_share).
    pub fn control_share(mut self, share: f64) -> Self {
        self.query.control_share = Some(share);
        self
    }

    /// Retrieves no memories. The run is in no arm of a comparison.
    pub fn no_retrieval(mut self) -> Self {
        self.retrieve = false;
        self
    }

    /// The time limit of the retrieval; by default that of
    /// [the client](crate::ClientBuilder::retrieval_timeout), 5 s.
    pub fn retrieval_timeout(mut self, timeout: Duration) -> Self {
        self.retrieval_timeout = timeout;
        self
    }

    /// Makes the end of the run wait until its memory exists, so that the next run retrieves it:
    /// `true` for up to 60 s, or a `Duration` as the limit. After that the run is sent in the
    /// background.
    ///
    /// A guard that a panic drops waits for at most 2 s; a closure or function that panics does not
    /// wait.
    pub fn until_learned(mut self, limit: impl LearningLimit) -> Self {
        self.options.until_learned = limit.limit();
        self
    }

    /// Whether an error or a panic fails the run.
    ///
    /// By default it does, unless the error [is transient](crate::is_transient). With `false` none does. A
    /// closure says it of each error; it comes last, before [`run`](RuledTrace::run) or
    /// [`run_async`](RuledTrace::run_async), and a panic fails the run nevertheless.
    ///
    /// A run that did not fail is recorded without a verdict, with `outcome: "error"` and the text of the
    /// error in its metadata.
    ///
    /// ```no_run
    /// # use reflect_sdk::ReflectClient;
    /// # #[derive(Debug, thiserror::Error)]
    /// # #[error("wrong")]
    /// # struct Error;
    /// # impl Error { fn is_wrong_answer(&self) -> bool { true } }
    /// # async fn my_agent(task: &str) -> Result<String, Error> { Ok(task.to_uppercase()) }
    /// async fn refund(client: &ReflectClient) -> Result<String, Error> {
    ///     let run = client.trace("Refund order 7").auto_fail(Error::is_wrong_answer);
    ///     run.run_async(async |ctx| my_agent(ctx.augmented_task()).await).await
    /// }
    /// ```
    pub fn auto_fail<A: AutoFail<Of>, Of>(self, rule: A) -> A::Run {
        rule.apply(self)
    }

    /// How to record a run that is left before it has an output: a [`run_async`](Self::run_async) that is
    /// cancelled, a recorded [stream](crate::TraceGuard#streams) that is dropped before its end, and a guard that is
    /// dropped without output and without a panic.
    pub fn on_cancel(mut self, on_cancel: OnCancel) -> Self {
        self.options.on_cancel = on_cancel;
        self
    }

    /// The policy or rules of the run, for the reflection.
    pub fn reference_context(mut self, context: impl Into<String>) -> Self {
        self.options.reference_context = Some(context.into());
        self
    }

    /// How far the review moves the utility of the retrieved memories, from 0 to 1, unless the output
    /// sets it.
    pub fn alpha(mut self, alpha: f64) -> Self {
        self.options.alpha = Some(alpha);
        self
    }

    /// The model, unless the output sets it.
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.options.model = Some(model.into());
        self
    }

    /// The conversation, ticket or job that the run belongs to; by default that of the run around it.
    pub fn session(mut self, id: impl Into<String>) -> Self {
        self.options.session = Some(id.into());
        self
    }

    /// Adds to the metadata. The output's value under the same key wins.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.options.metadata.insert(key.into(), value.into());
        self
    }
}

/// The options of a run that do not concern its memories.
#[derive(Clone, Debug, Default)]
pub(super) struct Options {
    pub(super) until_learned: Option<Duration>,
    pub(super) never_fails: bool,
    pub(super) on_cancel: OnCancel,
    pub(super) reference_context: Option<String>,
    pub(super) alpha: Option<f64>,
    pub(super) model: Option<String>,
    pub(super) session: Option<String>,
    pub(super) metadata: Metadata,
}

/// How to record a run that is left before it has an output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnCancel {
    /// Without a verdict, because it proves nothing. A guard that was left before anything was recorded is
    /// not sent, but counted and logged.
    #[default]
    Record,
    /// As a failed run.
    Fail,
    /// Not at all.
    Skip,
}

/// A value of [`TraceBuilder::until_learned`]: a `bool` or a `Duration`.
#[diagnostic::on_unimplemented(
    message = "`until_learned` takes `true`, `false` or a `Duration`, not `{Self}`",
    label = "expected a `bool` or a `std::time::Duration`",
    note = "for a limit in seconds, write `Duration::from_secs(5)`"
)]
pub trait LearningLimit {
    /// The longest wait; `None` to not wait.
    fn limit(self) -> Option<Duration>;
}

impl LearningLimit for bool {
    fn limit(self) -> Option<Duration> {
        self.then_some(Duration::from_secs(60))
    }
}

impl LearningLimit for Duration {
    fn limit(self) -> Option<Duration> {
        Some(self)
    }
}
