//! Tokio tasks that contain panics and outlive their callers.

use std::fmt::Debug;
use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::task::JoinError;

use crate::core::Core;
use crate::error::{Error, Result};
use crate::model;

/// Runs CPU-bound or blocking work on the blocking thread pool.
pub(crate) async fn compute<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(engine_panicked)
}

/// Runs work of the engine in its own task: a dropped caller does not leave it half done.
pub(crate) async fn finish<T: Send + 'static>(
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    tokio::spawn(work).await.map_err(engine_panicked).flatten()
}

/// Runs work that calls a model in its own task: a panic becomes an error that blames the `model`,
/// and a dropped caller does not cancel it.
pub(crate) async fn isolate<T, E>(
    model: &str,
    work: impl Future<Output = Result<T, E>> + Send + 'static,
) -> Result<T>
where
    T: Send + 'static,
    E: Into<Error> + Send + 'static,
{
    match tokio::spawn(work).await {
        Ok(result) => result.map_err(Into::into),
        Err(error) => Err(model_panicked(model, error)),
    }
}

/// Like [`isolate`], and a shutdown waits for it. The result is logged if the caller has gone.
pub(crate) async fn run_to_end<T: Debug + Send + 'static>(
    core: &Arc<Core>,
    model: &'static str,
    call: String,
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    let running = RunningCall::new(core);
    let (sender, receiver) = oneshot::channel();
    tokio::spawn(async move {
        let result = isolate(model, work).await;
        match sender.send(result) {
            Ok(()) => {}
            Err(Ok(done)) => tracing::info!(call, ?done, "done, though the caller has gone"),
            Err(Err(error)) => tracing::warn!(call, %error, "failed, and the caller has gone"),
        }
        drop(running);
    });
    receiver.await.map_err(|_| runtime_stopping())?
}

/// The error of a task of the engine that did not finish.
fn engine_panicked(error: JoinError) -> Error {
    match panic_message(error) {
        Some(message) => Error::bug(format!("the engine panicked{message}")),
        None => runtime_stopping(),
    }
}

/// The error of a task that called a model and did not finish.
pub(crate) fn model_panicked(model: &str, error: JoinError) -> Error {
    match panic_message(error) {
        Some(message) => Error::Model(model::Error {
            message: format!("{model} panicked{message}"),
            // The cause may be gone at the next attempt.
            retryable: true,
            source: None,
        }),
        None => runtime_stopping(),
    }
}

/// Counts as a call in progress while it lives.
struct RunningCall(Arc<Core>);

impl RunningCall {
    fn new(core: &Arc<Core>) -> Self {
        core.calls.send_modify(|count| *count += 1);
        Self(Arc::clone(core))
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        self.0.calls.send_modify(|count| *count -= 1);
    }
}

/// The message of a panic, as a suffix; `None` if the task was cancelled.
fn panic_message(error: JoinError) -> Option<String> {
    let panic = error.try_into_panic().ok()?;
    let message = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned());
    Some(message.map_or_else(String::new, |message| format!(": {message}")))
}

fn runtime_stopping() -> Error {
    Error::unavailable("the runtime is shutting down: try again when it is back")
}
