use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use reflect_types::{Memory, QueryMemories, Validate};
use serde_json::Value;
use tokio::time::timeout;

use super::context::TraceContext;
use super::guard::TraceGuard;
use super::open::{Open, Options};
use crate::client::{Handle, ReflectClient};
use crate::core::{Cause, Core};
use crate::error::{Error, Result};

impl<M> ReflectClient<M> {
    /// Starts a run that records itself.
    ///
    /// `.await` it, or [`start_blocking`](TraceBuilder::start_blocking) it, for a [`TraceGuard`]:
    /// it has the memories, and submits the run when it is dropped. Or give it the run as a closure,
    /// with [`run`](TraceBuilder::run) or [`run_async`](TraceBuilder::run_async).
    ///
    /// Where Reflect cannot be reached in time, the run goes on without memories;
    /// [`strict`](TraceBuilder::strict) makes that an error.
    ///
    /// ```no_run
    /// # use reflect_sdk::TraceOutput;
    /// # async fn run(client: reflect_sdk::ReflectClient) {
    /// let run = client.trace("Summarize the quarterly report").limit(5).await;
    /// let reply = my_agent(run.augmented_task()).await;
    /// run.set_output(TraceOutput::new(reply).fail("Missed the revenue decline in Q3"));
    /// # }
    /// # async fn my_agent(task: &str) -> String { task.to_owned() }
    /// ```
    pub fn trace(&self, task: impl Into<String>) -> TraceBuilder {
        TraceBuilder {
            client: Arc::clone(self.handle()),
            query: QueryMemories::new(task),
            retrieve: true,
            retrieval_timeout: self.core().settings.retrieval_timeout,
            options: Options::default(),
        }
    }
}

/// A run that is about to start; see [`ReflectClient::trace`].
#[derive(Clone, Debug)]
#[must_use = "a run starts when it is awaited, or with `.start_blocking()` or `.run(…)`"]
pub struct TraceBuilder {
    client: Arc<Handle>,
    query: QueryMemories,
    retrieve: bool,
    retrieval_timeout: Duration,
    options: Options,
}

/// What is recorded of a run whose future is dropped before it is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnCancel {
    /// What it did, without a verdict: a cancellation proves nothing.
    #[default]
    Record,
    /// What it did, as a failed run.
    Fail,
    /// Nothing.
    Skip,
}

/// Whether, and for how long, the end of a run waits for its memory; see
/// [`TraceBuilder::blocking`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait(Option<Duration>);

impl From<bool> for Wait {
    fn from(wait: bool) -> Self {
        Self(wait.then_some(Duration::from_secs(60)))
    }
}

impl From<Duration> for Wait {
    fn from(limit: Duration) -> Self {
        Self(Some(limit))
    }
}

impl TraceBuilder {
    /// How many memories at the most: 1 to 100, 10 unless set.
    pub fn limit(mut self, limit: u32) -> Self {
        self.query.limit = limit;
        self
    }

    /// How much proven utility counts against similarity, from 0 to 1:
    /// `score = (1 - lambda) * similarity + lambda * q_value`; 0.5 unless set.
    pub fn lambda(mut self, lambda: f64) -> Self {
        self.query.lambda = lambda;
        self
    }

    /// How much rank counts against variety, from 0 to 1; 0.7 unless set, 1 ranks alone.
    pub fn mmr_lambda(mut self, mmr_lambda: f64) -> Self {
        self.query.mmr_lambda = mmr_lambda;
        self
    }

    /// The lowest cosine similarity that counts; left to the server unless set.
    pub fn similarity_threshold(mut self, threshold: f64) -> Self {
        self.query.similarity_threshold = Some(threshold);
        self
    }

    /// Only memories whose metadata has this value under this key, or a list that holds it. Called
    /// again it narrows further.
    pub fn metadata_filter(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        let filter = self.query.metadata_filter.get_or_insert_default();
        filter.insert(key.into(), value.into());
        self
    }

    /// Asks for no memories.
    pub fn no_retrieval(mut self) -> Self {
        self.retrieve = false;
        self
    }

    /// How long to wait for memories before the run starts without them: 5 s unless set, here or
    /// for [the client](crate::ClientBuilder::retrieval_timeout).
    pub fn retrieval_timeout(mut self, timeout: Duration) -> Self {
        self.retrieval_timeout = timeout;
        self
    }

    /// Whether the end of the run waits until its memory exists, so that the next run is shown it:
    /// `true` for up to 60 s, or a limit of your own; but not for more than 2 s where a guard is
    /// dropped by a panic, and not at all where a closure or a function ends with one. After that
    /// the run is sent in the background all the same.
    pub fn blocking(mut self, wait: impl Into<Wait>) -> Self {
        self.options.blocking = wait.into().0;
        self
    }

    /// Whether a run that ends with an error or a panic is recorded as failed: yes unless set. If
    /// not, nothing is recorded of it.
    pub fn auto_fail(mut self, auto_fail: bool) -> Self {
        self.options.auto_fail = auto_fail;
        self
    }

    /// What is recorded of a [`run_async`](Self::run_async) that is cancelled.
    pub fn on_cancel(mut self, on_cancel: OnCancel) -> Self {
        self.options.on_cancel = on_cancel;
        self
    }

    /// The policy or rules the run works under, for the reflection.
    pub fn reference_context(mut self, context: impl Into<String>) -> Self {
        self.options.reference_context = Some(context.into());
        self
    }

    /// How far the review moves the retrieved memories, from 0 to 1, unless the output says
    /// otherwise.
    pub fn alpha(mut self, alpha: f64) -> Self {
        self.options.alpha = Some(alpha);
        self
    }

    /// The model, unless the output names another.
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.options.model = Some(model.into());
        self
    }

    /// Adds to the metadata; what the output says under the same key wins.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.options.metadata.insert(key.into(), value.into());
        self
    }

    /// Makes it an error when the memories do not come.
    pub fn strict(self) -> StrictTrace {
        StrictTrace(self)
    }

    /// Starts the run in code that is not async.
    pub fn start_blocking(self) -> TraceGuard {
        TraceGuard::new(self.open_blocking())
    }

    #[cfg(feature = "macros")]
    pub(super) fn client(&self) -> &Arc<Handle> {
        &self.client
    }

    /// Whether anything will come of the run.
    pub(super) fn is_enabled(&self) -> bool {
        self.client.core().is_enabled()
    }

    pub(super) fn open_blocking(self) -> Open {
        if !self.is_enabled() {
            return self.idle();
        }
        let memories = self.retrieve_blocking();
        self.fail_open(memories)
    }

    pub(super) async fn open(self) -> Open {
        if !self.is_enabled() {
            return self.idle();
        }
        let memories = self.retrieve().await;
        self.fail_open(memories)
    }

    /// The context of a run of which nothing comes.
    pub(super) fn into_idle(self) -> TraceContext {
        TraceContext::idle(self.query.task)
    }

    fn idle(self) -> Open {
        let context = TraceContext::idle(self.query.task);
        Open::idle(self.client, context, self.options)
    }

    /// Starts the run whether or not there are memories.
    fn fail_open(self, memories: Result<Vec<Memory>>) -> Open {
        let core = self.client.core();
        if let Err(error) = &memories {
            core.counters.retrievals_failed.add_one();
            core.notices.warn(
                Cause::Retrieval,
                format_args!("a run starts without memories: {error}"),
            );
        }
        self.start(memories)
    }

    fn start(self, memories: Result<Vec<Memory>>) -> Open {
        let context = TraceContext::new(self.query.task, memories);
        Open::new(self.client, context, self.options)
    }

    async fn retrieve(&self) -> Result<Vec<Memory>> {
        let core = self.client.core();
        match self.question()? {
            Some(query) => {
                let answer = ask(Arc::clone(core), query, self.retrieval_timeout);
                core.worker().spawn(answer)?.await?
            }
            None => Ok(Vec::new()),
        }
    }

    fn retrieve_blocking(&self) -> Result<Vec<Memory>> {
        /// The I/O thread keeps the time; this only covers for a thread that is starved.
        const GRACE: Duration = Duration::from_secs(1);

        let core = self.client.core();
        match self.question()? {
            Some(query) => {
                let answer = ask(Arc::clone(core), query, self.retrieval_timeout);
                let limit = self.retrieval_timeout.saturating_add(GRACE);
                core.worker().wait(answer, limit)
            }
            None => Ok(Vec::new()),
        }
    }

    fn question(&self) -> Result<Option<QueryMemories>> {
        if !self.retrieve {
            return Ok(None);
        }
        self.query.validate()?;
        Ok(Some(self.query.clone()))
    }
}

/// Asks for memories on the I/O thread, within the time.
async fn ask(core: Arc<Core>, query: QueryMemories, limit: Duration) -> Result<Vec<Memory>> {
    let answer = core.call(query);
    timeout(limit, answer).await.unwrap_or_else(|_| {
        Err(Error::Timeout {
            what: "asking for memories".to_owned(),
            after: limit,
        })
    })
}

impl IntoFuture for TraceBuilder {
    type Output = TraceGuard;
    type IntoFuture = Pin<Box<dyn Future<Output = TraceGuard> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { TraceGuard::new(self.open().await) })
    }
}

/// A run that does not start without its memories; see [`TraceBuilder::strict`].
#[derive(Clone, Debug)]
#[must_use = "a run starts when it is awaited, or with `.start_blocking()` or `.run(…)`"]
pub struct StrictTrace(TraceBuilder);

impl StrictTrace {
    /// Starts the run in code that is not async.
    pub fn start_blocking(self) -> Result<TraceGuard> {
        self.open_blocking().map(TraceGuard::new)
    }

    pub(super) fn open_blocking(self) -> Result<Open> {
        if !self.0.is_enabled() {
            return Ok(self.0.idle());
        }
        let memories = self.0.retrieve_blocking()?;
        Ok(self.0.start(Ok(memories)))
    }

    pub(super) async fn open(self) -> Result<Open> {
        if !self.0.is_enabled() {
            return Ok(self.0.idle());
        }
        let memories = self.0.retrieve().await?;
        Ok(self.0.start(Ok(memories)))
    }
}

impl IntoFuture for StrictTrace {
    type Output = Result<TraceGuard>;
    type IntoFuture = Pin<Box<dyn Future<Output = Result<TraceGuard>> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.open().await.map(TraceGuard::new) })
    }
}
