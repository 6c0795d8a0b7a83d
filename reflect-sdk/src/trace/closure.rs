//! Runs whose body is a closure.

use std::fmt::Display;
use std::future::Future;

use super::ambient::context;
use super::begin::{begin, begin_strictly};
use super::builder::{StrictTrace, TraceBuilder};
use super::context::TraceContext;
use super::future::traced;
use super::returns::TraceReturn;
use super::start::Start;
use crate::error::Error;

impl TraceBuilder {
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
        let run = async move {
            begin(Some(Start::of(self))).await;
            body(context(None)).await
        };
        traced(run).until_learned().await
    }
}

impl StrictTrace {
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
        let run = async move {
            begin_strictly(Some(Start::of(self.0))).await?;
            body(context(None)).await
        };
        traced(run).until_learned().await
    }
}
