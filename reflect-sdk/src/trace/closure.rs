//! Runs that are one closure or one future, whose panics can be told from those of others.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project::{pin_project, pinned_drop};

use super::builder::{StrictTrace, TraceBuilder};
use super::context::TraceContext;
use super::handle::TraceHandle;
use super::open::{Ending, Open};
use super::panics::Panic;
use super::returns::{Outcome, TraceReturn};
use crate::error::Error;

impl TraceBuilder {
    /// Runs the closure and records it; the caller gets the output.
    ///
    /// An `Err` is recorded as a failed run. So is a panic, with its message as feedback; then it
    /// goes on.
    ///
    /// ```no_run
    /// use reflect_sdk::{Message, TraceResult};
    ///
    /// # let client = reflect_sdk::ReflectClient::from_env()?;
    /// let reply: String = client.trace("Refund order 7").limit(3).run(|ctx| {
    ///     let reply = ctx.augmented_task().to_uppercase();
    ///     let messages = vec![Message::user(ctx.augmented_task()), Message::assistant(&reply)];
    ///     TraceResult::new(reply, messages).pass()
    /// });
    /// # Ok::<(), reflect_sdk::Error>(())
    /// ```
    pub fn run<R: TraceReturn>(self, body: impl FnOnce(TraceContext) -> R) -> R::Output {
        if !self.is_enabled() {
            return self.into_idle().run_idle(body).into_output();
        }
        self.open_blocking().run(body).into_output()
    }

    /// Runs the closure's future and records it; the caller gets the output.
    ///
    /// It is like [`run`](Self::run). In addition, a future that is dropped half-way is recorded as
    /// [`on_cancel`](Self::on_cancel) says.
    ///
    /// ```no_run
    /// # async fn run(client: reflect_sdk::ReflectClient) -> Result<(), String> {
    /// let reply = client.trace("Refund order 7").run_async(async |ctx| {
    ///     my_agent(ctx.augmented_task()).await
    /// });
    /// println!("{}", reply.await?);
    /// # Ok(())
    /// # }
    /// # async fn my_agent(task: &str) -> Result<String, String> { Ok(task.to_owned()) }
    /// ```
    pub async fn run_async<R: TraceReturn, F: Future<Output = R>>(
        self,
        body: impl FnOnce(TraceContext) -> F,
    ) -> R::Output {
        self.open().await.run_async(body).await.into_output()
    }
}

impl StrictTrace {
    /// Runs the closure and records it, once the memories are there.
    pub fn run<R: TraceReturn, E: std::fmt::Display + From<Error>>(
        self,
        body: impl FnOnce(TraceContext) -> Result<R, E>,
    ) -> Result<R::Output, E> {
        self.open_blocking()?.run(body).into_output()
    }

    /// Runs the closure's future and records it, once the memories are there.
    pub async fn run_async<R, E, F>(
        self,
        body: impl FnOnce(TraceContext) -> F,
    ) -> Result<R::Output, E>
    where
        R: TraceReturn,
        E: std::fmt::Display + From<Error>,
        F: Future<Output = Result<R, E>>,
    {
        self.open().await?.run_async(body).await.into_output()
    }
}

impl Open {
    /// Runs the closure as this run. What it returns knows what becomes of the run.
    pub(super) fn run<R: TraceReturn>(self, body: impl FnOnce(TraceContext) -> R) -> R {
        if self.context.is_idle() {
            return self.context.run_idle(body);
        }
        let context = self.context.clone();
        let scope = context.enter();
        let ended = catch_unwind(AssertUnwindSafe(|| body(context.clone())));
        drop(scope);
        match ended {
            Ok(mut value) => {
                let (client, blocking) = (self.client.clone(), self.options.blocking);
                let handle = self.end(outcome(&value).into());
                Self::wait_if_blocking(&client, blocking, &handle);
                value.attach(&handle);
                value
            }
            Err(payload) => {
                self.end_panicked(&*payload);
                resume_unwind(payload)
            }
        }
    }

    /// Runs the future as this run.
    pub(super) async fn run_async<R: TraceReturn, F: Future<Output = R>>(
        self,
        body: impl FnOnce(TraceContext) -> F,
    ) -> R {
        let (client, blocking) = (self.client.clone(), self.options.blocking);
        let context = self.context.clone();
        // What the closure does before there is a future belongs to the run too, also a panic.
        let begun = catch_unwind(AssertUnwindSafe(|| {
            context.in_scope(|| body(context.clone()))
        }));
        let body = match begun {
            Ok(body) => body,
            Err(payload) => {
                self.end_panicked(&*payload);
                resume_unwind(payload)
            }
        };
        if context.is_idle() {
            let mut value = context.scope(body).await;
            value.attach(TraceHandle::disabled());
            return value;
        }
        let (mut value, handle) = Watched::new(self, body).await;
        if let Some(limit) = blocking {
            Self::wait(&client, limit, &handle).await;
        }
        value.attach(&handle);
        value
    }

    pub(super) fn end_panicked(self, payload: &(dyn std::any::Any + Send)) {
        let why = Panic::caught(payload, &self.mark);
        self.end(Ending::Failed { why, output: None });
    }
}

impl TraceContext {
    /// Runs the closure as this run of a disabled client, whose end is of no interest.
    pub(super) fn run_idle<R: TraceReturn>(self, body: impl FnOnce(TraceContext) -> R) -> R {
        let scope = self.enter();
        let mut value = body(self);
        drop(scope);
        value.attach(TraceHandle::disabled());
        value
    }
}

/// What is recorded of the value. Showing an error is the user's code, and may itself panic.
pub(super) fn outcome(value: &impl TraceReturn) -> Outcome {
    catch_unwind(AssertUnwindSafe(|| value.outcome()))
        .unwrap_or_else(|_| Outcome::Error("an error that cannot be shown".to_owned()))
}

/// A future that is a run: it tells a value from a panic from being dropped half-way.
#[pin_project(PinnedDrop)]
#[derive(Debug)]
pub(super) struct Watched<F: Future> {
    /// `None` once the run has ended.
    open: Option<Open>,
    #[pin]
    body: Option<F>,
}

impl<F: Future> Watched<F> {
    pub(super) fn new(open: Open, body: F) -> Self {
        Self {
            open: Some(open),
            body: Some(body),
        }
    }
}

impl<F: Future<Output: TraceReturn>> Future for Watched<F> {
    type Output = (F::Output, TraceHandle);

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let (Some(open), Some(body)) = (this.open.as_ref(), this.body.as_mut().as_pin_mut()) else {
            // Polled again after its end, which no caller may do.
            return Poll::Pending;
        };
        let scope = open.context.enter();
        let polled = catch_unwind(AssertUnwindSafe(|| body.poll(cx)));
        if let Ok(Poll::Pending) = polled {
            return Poll::Pending;
        }
        this.body.set(None);
        drop(scope);
        match (polled, this.open.take()) {
            (Ok(Poll::Ready(value)), Some(open)) => {
                let handle = open.end(outcome(&value).into());
                Poll::Ready((value, handle))
            }
            (Err(payload), open) => {
                if let Some(open) = open {
                    open.end_panicked(&*payload);
                }
                resume_unwind(payload)
            }
            _ => Poll::Pending,
        }
    }
}

#[pinned_drop]
impl<F: Future> PinnedDrop for Watched<F> {
    fn drop(self: Pin<&mut Self>) {
        let mut this = self.project();
        let Some(open) = this.open.take() else { return };
        let scope = open.context.enter();
        this.body.set(None);
        drop(scope);
        open.end(Ending::Cancelled);
    }
}
