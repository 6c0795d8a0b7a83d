//! CPU work on blocking threads, and tokio tasks that contain panics and outlive their callers.

use std::fmt::Debug;
use std::num::NonZero;
use std::sync::LazyLock;
use std::thread::available_parallelism;

use tokio::sync::{Semaphore, oneshot, watch};
use tokio::task::{JoinError, JoinSet};

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

/// Like [`compute`], with no more of it at a time than there are processors: for work that comes in great numbers,
/// which would otherwise take a blocking thread each.
pub(crate) async fn on_cpu<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    static PROCESSORS: LazyLock<Semaphore> = LazyLock::new(|| {
        let processors = available_parallelism().map_or(1, NonZero::get);
        Semaphore::new(processors)
    });
    // It is never closed.
    let permit = PROCESSORS.acquire().await.ok();
    compute(move || {
        // Held by the thread: a caller that has gone does not end its work.
        let _permit = permit;
        work()
    })
    .await
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

/// Like [`isolate`], but dropping the future ends the work.
pub(crate) async fn attempt<T: Send + 'static>(
    model: &str,
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T> {
    let mut tasks = JoinSet::new();
    tasks.spawn(work);
    match tasks.join_next().await {
        Some(joined) => joined.map_err(|error| model_panicked(model, error)),
        None => Err(runtime_stopping()),
    }
}

/// Like [`isolate`], and a shutdown waits until none of these `calls` is in progress. The result is logged if the caller has gone.
pub(crate) async fn run_to_end<T: Debug + Send + 'static>(
    calls: &watch::Sender<usize>,
    model: &'static str,
    call: String,
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    let running = RunningCall::new(calls);
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
fn model_panicked(model: &str, error: JoinError) -> Error {
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
struct RunningCall(watch::Sender<usize>);

impl RunningCall {
    fn new(calls: &watch::Sender<usize>) -> Self {
        calls.send_modify(|count| *count += 1);
        Self(calls.clone())
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use futures_util::future::join_all;

    use super::*;

    #[tokio::test]
    async fn cpu_work_leaves_the_runtime_and_takes_as_many_threads_as_there_are_processors() {
        static RUNNING: AtomicUsize = AtomicUsize::new(0);
        let runtime = thread::current().id();
        let work = |_| {
            on_cpu(move || {
                let running = RUNNING.fetch_add(1, Ordering::SeqCst) + 1;
                // Long enough for others to begin.
                (0..100).for_each(|_| thread::yield_now());
                RUNNING.fetch_sub(1, Ordering::SeqCst);
                (running, thread::current().id())
            })
        };
        let processors = available_parallelism().map_or(1, NonZero::get);
        for done in join_all((0..200).map(work)).await {
            let (running, thread) = done.unwrap();
            assert!(running <= processors, "{running} at a time");
            assert_ne!(thread, runtime);
        }
    }
}
