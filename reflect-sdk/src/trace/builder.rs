use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use reflect_types::{Arm, Memory, QueryMemories, Ranking, Validate, neutral};
use serde_json::Value;
use tokio::time::timeout;

use super::ambient::parent;
use super::context::TraceContext;
use super::draw::Draw;
use super::guard::TraceGuard;
use super::open::OpenRun;
use super::options::{BlockingLimit, OnCancel, Options};
use super::user_code::value_of;
use crate::client::{Handle, QueryOptions, ReflectClient};
use crate::core::{Cause, Core};
use crate::error::{Error, Result};

impl<M> ReflectClient<M> {
    /// Starts a run that records itself.
    ///
    /// `.await` or [`start_blocking`](TraceBuilder::start_blocking) it for a [`TraceGuard`], which has
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
    /// A value of an option that panics, such as an `Into` of yours, leaves the option unset; without a
    /// task the run is not recorded. [`stats`](ReflectClient::stats) count it.
    ///
    /// In a function that returns early with `?`, prefer `run` or `run_async`: they record the error,
    /// which [a guard does not see](TraceGuard#early-returns).
    pub fn trace(&self, task: impl Into<String>) -> TraceBuilder {
        let task = value_of(self.core(), "task", || task.into());
        TraceBuilder {
            client: Arc::clone(self.handle()),
            task: task.unwrap_or_default(),
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
    client: Arc<Handle>,
    task: String,
    query: QueryOptions,
    retrieve: bool,
    retrieval_timeout: Duration,
    options: Options,
}

impl TraceBuilder {
    /// Replaces all options of the query for memories.
    pub fn options(mut self, options: QueryOptions) -> Self {
        self.query = options;
        self
    }

    /// The maximum number of memories, from 1 to 100; 10 by default.
    pub fn limit(mut self, limit: u32) -> Self {
        self.query.limit = limit;
        self
    }

    /// How memories are ranked; the server's choice by default.
    pub fn ranking(mut self, ranking: Ranking) -> Self {
        self.query.ranking = Some(ranking);
        self
    }

    /// The weight of utility against similarity in the classic ranking, from 0 to 1; 0.5 by default:
    /// `score = (1 - lambda) * similarity + lambda * q_value`. Another value asks for that ranking.
    pub fn lambda(mut self, lambda: f64) -> Self {
        self.query.lambda = lambda;
        self
    }

    /// The weight of rank against variety, from 0 to 1; 0.7 by default; 1 disables variety.
    pub fn mmr_lambda(mut self, mmr_lambda: f64) -> Self {
        self.query.mmr_lambda = mmr_lambda;
        self
    }

    /// The lowest cosine similarity of a memory; the server's choice by default.
    pub fn similarity_threshold(mut self, threshold: f64) -> Self {
        self.query.similarity_threshold = Some(threshold);
        self
    }

    /// Only memories whose metadata has this value under this key, or a list that holds it. Further
    /// calls narrow the result.
    pub fn metadata_filter(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        if let Some((key, value)) = self.value("metadata_filter", || (key.into(), value.into())) {
            let filter = self.query.metadata_filter.get_or_insert_default();
            filter.insert(key, value);
        }
        self
    }

    /// The share of such runs, from 0 to 1, that are given no memories, for comparison; by default that
    /// of [the client](crate::ClientBuilder::control).
    pub fn control(mut self, share: f64) -> Self {
        self.query.control = Some(share);
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
    pub fn blocking(mut self, limit: impl BlockingLimit) -> Self {
        self.options.blocking = limit.limit();
        self
    }

    /// Whether a run that ends with an error or a panic is recorded, as failed; `true` by default.
    pub fn auto_fail(mut self, auto_fail: bool) -> Self {
        self.options.auto_fail = auto_fail;
        self
    }

    /// How to record a [`run_async`](Self::run_async) that is cancelled.
    pub fn on_cancel(mut self, on_cancel: OnCancel) -> Self {
        self.options.on_cancel = on_cancel;
        self
    }

    /// The policy or rules of the run, for the reflection.
    pub fn reference_context(mut self, context: impl Into<String>) -> Self {
        if let Some(context) = self.value("reference_context", || context.into()) {
            self.options.reference_context = Some(context);
        }
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
        if let Some(model) = self.value("model", || model.into()) {
            self.options.model = Some(model);
        }
        self
    }

    /// Adds to the metadata. The output's value under the same key wins.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        if let Some((key, value)) = self.value("metadata", || (key.into(), value.into())) {
            self.options.metadata.insert(key, value);
        }
        self
    }

    /// Makes a failed or late retrieval an error.
    pub fn strict(self) -> StrictTrace {
        StrictTrace(self)
    }

    /// Starts the run, blocking the thread during the retrieval.
    pub fn start_blocking(self) -> TraceGuard {
        TraceGuard::new(self.open_blocking())
    }

    /// The value of an option; `None` if it panicked.
    pub(super) fn value<T>(&self, option: &'static str, value: impl FnOnce() -> T) -> Option<T> {
        value_of(self.client.core(), option, value)
    }

    #[cfg(feature = "macros")]
    pub(super) fn client(&self) -> &Arc<Handle> {
        &self.client
    }

    /// Whether the run may be recorded.
    pub(super) fn is_enabled(&self) -> bool {
        self.client.core().is_enabled()
    }

    pub(super) fn open_blocking(self) -> OpenRun {
        if !self.is_enabled() {
            return self.idle();
        }
        let mut draw = self.draw();
        let memories = self.retrieve_blocking(&mut draw);
        self.fail_open(draw, memories)
    }

    pub(super) async fn open(self) -> OpenRun {
        if !self.is_enabled() {
            return self.idle();
        }
        let mut draw = self.draw();
        let memories = self.retrieve(&mut draw).await;
        self.fail_open(draw, memories)
    }

    pub(super) fn into_task(self) -> String {
        self.task
    }

    fn idle(self) -> OpenRun {
        let context = TraceContext::idle(self.task, parent());
        OpenRun::idle(self.client, context, self.options)
    }

    /// Starts the run even if the retrieval failed.
    fn fail_open(self, draw: Draw, memories: Result<Vec<Memory>>) -> OpenRun {
        let core = self.client.core();
        if let Err(error) = &memories {
            core.counters.retrievals_failed.add_one();
            core.notices.warn(
                Cause::Retrieval,
                format_args!("a run starts without memories: {error}"),
            );
        }
        self.start(draw, memories)
    }

    fn start(self, draw: Draw, memories: Result<Vec<Memory>>) -> OpenRun {
        let context = TraceContext::new(draw, self.task, memories, self.query.style, parent());
        OpenRun::new(self.client, context, self.options)
    }

    /// The id and arm of the run. One that retrieves nothing, by choice or by a mistake in its options,
    /// is in no arm.
    fn draw(&self) -> Draw {
        let share = self.query.control;
        if self.retrieve && share.map_or(Ok(()), Arm::check_share).is_ok() {
            Draw::new(share, parent().as_ref().and_then(TraceContext::arm))
        } else {
            Draw::uncompared()
        }
    }

    async fn retrieve(&self, draw: &mut Draw) -> Result<Vec<Memory>> {
        let Some(retrieval) = self.retrieval(draw)? else {
            return Ok(Vec::new());
        };
        let worker = self.client.core().worker();
        let (closed, memories) = worker.spawn(retrieval)?.await??;
        *draw = closed;
        Ok(memories)
    }

    fn retrieve_blocking(&self, draw: &mut Draw) -> Result<Vec<Memory>> {
        /// The I/O thread keeps the time limit; this covers for one that is starved.
        const GRACE: Duration = Duration::from_secs(1);

        let Some(retrieval) = self.retrieval(draw)? else {
            return Ok(Vec::new());
        };
        let limit = self.retrieval_timeout.saturating_add(GRACE);
        let worker = self.client.core().worker();
        let (closed, memories) = worker.wait(retrieval, limit)?;
        *draw = closed;
        Ok(memories)
    }

    /// Draws the arm and asks for memories; `None` without retrieval.
    fn retrieval(
        &self,
        draw: &Draw,
    ) -> Result<Option<impl Future<Output = Retrieved> + Send + use<>>> {
        let query = self.query()?;
        let core = Arc::clone(self.client.core());
        core.transport()?;
        let (draw, limit) = (draw.clone(), self.retrieval_timeout);
        Ok(query.map(|query| retrieve(core, draw, query, limit)))
    }

    /// The checked query; `None` without retrieval.
    fn query(&self) -> Result<Option<QueryMemories>> {
        if !self.retrieve {
            return Ok(None);
        }
        self.query.control.map_or(Ok(()), Arm::check_share)?;
        // A long task finds memories by its beginning, as it is recorded.
        let task = neutral::excerpt(&self.task, QueryMemories::MAX_TASK);
        let query = self.query.clone().query(task);
        query.validate()?;
        Ok(Some(query))
    }
}

/// The drawn run and its memories.
type Retrieved = Result<(Draw, Vec<Memory>)>;

/// Draws the arm of a run and retrieves its memories on the I/O thread, within the limit.
async fn retrieve(
    core: Arc<Core>,
    mut draw: Draw,
    query: QueryMemories,
    limit: Duration,
) -> Retrieved {
    let retrieved = async {
        draw.close(&core).await;
        let memories = if draw.is_control() {
            Vec::new()
        } else {
            core.call(query).await?
        };
        Ok((draw, memories))
    };
    timeout(limit, retrieved).await.unwrap_or_else(|_| {
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

/// A run that starts only if the retrieval succeeds; see [`TraceBuilder::strict`].
#[derive(Clone, Debug)]
#[must_use = "a run starts when it is awaited, or with `.start_blocking()` or `.run(…)`"]
pub struct StrictTrace(pub(super) TraceBuilder);

impl StrictTrace {
    /// Starts the run, blocking the thread during the retrieval.
    pub fn start_blocking(self) -> Result<TraceGuard> {
        self.open_blocking().map(TraceGuard::new)
    }

    pub(super) fn open_blocking(self) -> Result<OpenRun> {
        if !self.0.is_enabled() {
            return Ok(self.0.idle());
        }
        let mut draw = self.0.draw();
        let memories = self.0.retrieve_blocking(&mut draw)?;
        Ok(self.0.start(draw, Ok(memories)))
    }

    pub(super) async fn open(self) -> Result<OpenRun> {
        if !self.0.is_enabled() {
            return Ok(self.0.idle());
        }
        let mut draw = self.0.draw();
        let memories = self.0.retrieve(&mut draw).await?;
        Ok(self.0.start(draw, Ok(memories)))
    }
}

impl IntoFuture for StrictTrace {
    type Output = Result<TraceGuard>;
    type IntoFuture = Pin<Box<dyn Future<Output = Result<TraceGuard>> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.open().await.map(TraceGuard::new) })
    }
}
