//! The start of a run: its arm and its memories.

use std::convert::Infallible;
use std::fmt::Display;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;

use reflect_types::{Arm, Memory, QueryMemories, Validate, neutral};
use tokio::time::timeout;

use super::builder::TraceBuilder;
use super::context::{TraceContext, parent};
use super::future::traced;
use super::guard::TraceGuard;
use super::output::TraceReturn;
use super::run::OpenRun;
use crate::client::idempotency_key;
use crate::core::{Cause, Core, on_runtime};
use crate::error::{Error, Result};

/// The arm of a run, if it is compared, and its memories.
type Retrieved = (Option<Arm>, Vec<Memory>);

impl TraceBuilder {
    /// Makes a failed or late retrieval an error.
    pub fn strict(self) -> StrictTrace {
        StrictTrace(self)
    }

    /// Starts the run, blocking the thread during the retrieval.
    pub fn start_blocking(self) -> TraceGuard {
        TraceGuard::new(self.open_blocking())
    }

    /// Runs the closure, records the run and returns the output.
    ///
    /// An `Err` is recorded as a failed run, and so is a panic, with its message as feedback; the panic
    /// then continues.
    ///
    /// ```no_run
    /// use reflect_sdk::{Message, ReflectClient, TraceResult};
    ///
    /// fn refund(client: &ReflectClient) -> String {
    ///     client.trace("Refund order 7").limit(3).run(|ctx| {
    ///         let reply = ctx.augmented_task().to_uppercase();
    ///         let messages = vec![Message::user(ctx.augmented_task()), Message::assistant(&reply)];
    ///         TraceResult::new(reply, messages).pass()
    ///     })
    /// }
    /// ```
    pub fn run<R: TraceReturn>(self, body: impl FnOnce(TraceContext) -> R) -> R::Output {
        self.open_blocking().run(body).into_output()
    }

    /// Runs the closure's future, records the run and returns the output.
    ///
    /// Like [`run`](Self::run); a future that is dropped before it completes is recorded as
    /// [`on_cancel`](Self::on_cancel) says.
    ///
    /// ```no_run
    /// use reflect_sdk::ReflectClient;
    ///
    /// async fn refund(client: &ReflectClient) -> Result<String, String> {
    ///     let run = client.trace("Refund order 7");
    ///     run.run_async(async |ctx| my_agent(ctx.augmented_task()).await).await
    /// }
    ///
    /// async fn my_agent(task: &str) -> Result<String, String> {
    ///     Ok(task.to_uppercase())
    /// }
    /// ```
    pub async fn run_async<R: TraceReturn, F: Future<Output = R>>(
        self,
        body: impl FnOnce(TraceContext) -> F,
    ) -> R::Output {
        let run = traced(async move |slot| {
            let Ok(context) = slot.begin(self).await;
            body(context).await
        });
        run.until_learned().await
    }

    /// Whether the run may be recorded.
    pub(super) fn is_enabled(&self) -> bool {
        self.client.core().is_enabled()
    }

    pub(super) fn open_blocking(self) -> OpenRun {
        if !self.is_enabled() {
            return self.idle();
        }
        let id = idempotency_key();
        let retrieved = self.retrieve_blocking(&id);
        self.fail_open(id, retrieved)
    }

    pub(super) async fn open(self) -> Result<OpenRun, Infallible> {
        if !self.is_enabled() {
            return Ok(self.idle());
        }
        let id = idempotency_key();
        let retrieved = self.retrieve(&id).await;
        Ok(self.fail_open(id, retrieved))
    }

    /// A run of a disabled client.
    pub(super) fn idle(self) -> OpenRun {
        let context = TraceContext::idle(self.task, parent());
        OpenRun::idle(self.client, context, self.options)
    }

    /// Starts the run even if the retrieval failed.
    fn fail_open(self, id: String, retrieved: Result<Retrieved>) -> OpenRun {
        let core = self.client.core();
        if let Err(error) = &retrieved {
            core.counters.retrievals_failed.add_one();
            core.notices.warn(
                Cause::Retrieval,
                format_args!("a run starts without memories: {error}"),
            );
        }
        self.start(id, retrieved)
    }

    fn start(self, id: String, retrieved: Result<Retrieved>) -> OpenRun {
        let (arm, memories) = match retrieved {
            Ok((arm, memories)) => (arm, Ok(memories)),
            Err(error) => (self.outer_arm(), Err(error)),
        };
        let context = TraceContext::new(id, arm, self.task, memories, self.query.style, parent());
        OpenRun::new(self.client, context, self.options)
    }

    /// The arm of the run around this one, which is that of this one too: what the inner run is given
    /// helps the outer one. A run that retrieves nothing, by choice or by a mistake in its options, has
    /// none.
    fn outer_arm(&self) -> Option<Arm> {
        let is_compared = self.retrieve && self.check_share().is_ok();
        parent().filter(|_| is_compared)?.arm().cloned()
    }

    fn check_share(&self) -> Result<()> {
        Ok(self.query.control_share.map_or(Ok(()), Arm::check_share)?)
    }

    async fn retrieve(&self, id: &str) -> Result<Retrieved> {
        match self.retrieval(id)? {
            Some(retrieval) => self.client.core().worker().spawn(retrieval)?.await?,
            None => Ok((None, Vec::new())),
        }
    }

    fn retrieve_blocking(&self, id: &str) -> Result<Retrieved> {
        let (core, limit) = (self.client.core(), self.retrieval_timeout);
        match self.retrieval(id)? {
            Some(retrieval) => {
                if on_runtime() {
                    core.notices.warn(
                        Cause::HeldUpRuntime,
                        "a run that is not async asks for its memories on a thread of an async runtime, and holds up \
                         the other tasks there until they come: make the function async, await the guard, or use \
                         `spawn_blocking`",
                    );
                }
                core.worker().wait(retrieval, limit)
            }
            None => Ok((None, Vec::new())),
        }
    }

    /// Draws the arm and asks for memories within the time limit; `None` without retrieval.
    fn retrieval(
        &self,
        id: &str,
    ) -> Result<Option<impl Future<Output = Result<Retrieved>> + Send + use<>>> {
        if !self.retrieve {
            return Ok(None);
        }
        self.check_share()?;
        // A long task finds memories by its beginning, as it is recorded.
        let task = neutral::excerpt(&self.task, QueryMemories::MAX_TASK);
        let (outer, share) = (self.outer_arm(), self.query.control_share);
        let query = self.query.clone().query(task);
        query.validate()?;
        let (core, limit) = (Arc::clone(self.client.core()), self.retrieval_timeout);
        core.transport()?;
        let id = id.to_owned();
        Ok(Some(Arc::clone(&core.gate).pass(async move {
            let retrieved = timeout(limit, retrieve(&core, &id, outer, share, query)).await;
            retrieved.unwrap_or_else(|_| Err(Error::timeout("asking for memories", limit)))
        })))
    }
}

/// Draws the arm of a run, unless it has that of an outer one, and retrieves its memories.
async fn retrieve(
    core: &Core,
    id: &str,
    outer: Option<Arm>,
    share: Option<f64>,
    query: QueryMemories,
) -> Result<Retrieved> {
    let arm = match outer {
        Some(arm) => Some(arm),
        None => Arm::draw(id, core.control_share(share).await?),
    };
    let memories = match arm {
        Some(Arm::Control) => Vec::new(),
        _ => core.call(query).await?,
    };
    Ok((arm, memories))
}

impl IntoFuture for TraceBuilder {
    type Output = TraceGuard;
    type IntoFuture = Pin<Box<dyn Future<Output = TraceGuard> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Ok(open) = self.open().await;
            TraceGuard::new(open)
        })
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

    /// Retrieves the memories, runs the closure, records the run and returns the output.
    pub fn run<R: TraceReturn, E: Display + From<Error>>(
        self,
        body: impl FnOnce(TraceContext) -> Result<R, E>,
    ) -> Result<R::Output, E> {
        self.open_blocking()?.run(body).into_output()
    }

    /// Retrieves the memories, runs the closure's future, records the run and returns the output.
    pub async fn run_async<R, E, F>(
        self,
        body: impl FnOnce(TraceContext) -> F,
    ) -> Result<R::Output, E>
    where
        R: TraceReturn,
        E: Display + From<Error>,
        F: Future<Output = Result<R, E>>,
    {
        let run = traced(async move |slot| {
            let context = slot.begin_strictly(self.0).await?;
            body(context).await
        });
        run.until_learned().await
    }

    pub(super) fn open_blocking(self) -> Result<OpenRun> {
        if !self.0.is_enabled() {
            return Ok(self.0.idle());
        }
        let id = idempotency_key();
        let retrieved = self.0.retrieve_blocking(&id)?;
        Ok(self.0.start(id, Ok(retrieved)))
    }

    pub(super) async fn open(self) -> Result<OpenRun> {
        if !self.0.is_enabled() {
            return Ok(self.0.idle());
        }
        let id = idempotency_key();
        let retrieved = self.0.retrieve(&id).await?;
        Ok(self.0.start(id, Ok(retrieved)))
    }
}

impl IntoFuture for StrictTrace {
    type Output = Result<TraceGuard>;
    type IntoFuture = Pin<Box<dyn Future<Output = Result<TraceGuard>> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.open().await.map(TraceGuard::new) })
    }
}
