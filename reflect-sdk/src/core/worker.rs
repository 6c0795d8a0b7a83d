//! The client's I/O thread.
//!
//! One thread with one current-thread runtime serves every call, async or blocking. So a client
//! works under any executor or none, can be shared by several runtimes (a connection pool bound to
//! a runtime that is no longer driven hangs), and a blocking call cannot deadlock the caller's
//! runtime: it [waits](block_on) on a condition variable, with a limit.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::thread;
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::block_on;
use crate::error::{Error, Result};

thread_local! {
    /// The worker of this thread, or 0. Unlike the thread's id it is available until the very end of
    /// a thread.
    static THIS_WORKER: Cell<u64> = const { Cell::new(0) };
}

/// The thread. It starts with the first use, so that an unused client costs nothing.
#[derive(Debug)]
pub(crate) struct Worker {
    id: u64,
    running: Mutex<Option<Running>>,
}

impl Default for Worker {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            running: Mutex::default(),
        }
    }
}

#[derive(Debug)]
struct Running {
    runtime: Handle,
    /// The thread ends when this is dropped.
    _stop: oneshot::Sender<()>,
}

impl Worker {
    /// Runs the future on the thread. Dropping the task cancels it.
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Result<Task<T>> {
        Ok(Task(self.start()?.spawn(future)))
    }

    /// Runs the future on the thread, for as long as the thread lives.
    pub(crate) fn detach(&self, future: impl Future<Output = ()> + Send + 'static) -> Result<()> {
        self.start()?.spawn(future);
        Ok(())
    }

    /// Whether the thread was started.
    pub(crate) fn is_running(&self) -> bool {
        let running = self.running.lock();
        running.unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Whether the caller is on the worker's thread, where waiting for the worker would deadlock.
    pub(crate) fn is_this_thread(&self) -> bool {
        THIS_WORKER.get() == self.id
    }

    /// Runs the future, which keeps the limit, on the thread and waits for it; a thread that is starved is
    /// not waited for much longer.
    pub(crate) fn wait<T: Send + 'static>(
        &self,
        future: impl Future<Output = Result<T>> + Send + 'static,
        limit: Duration,
    ) -> Result<T> {
        const GRACE: Duration = Duration::from_secs(1);

        if self.is_this_thread() {
            return Err(Error::WouldDeadlock);
        }
        let limit = limit.saturating_add(GRACE);
        let task = self.spawn(future)?;
        block_on(task, limit).unwrap_or_else(|| Err(Error::timeout("the call", limit)))?
    }

    fn start(&self) -> Result<Handle> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = &*running {
            return Ok(running.runtime.clone());
        }
        let started = launch(self.id)
            .map_err(|error| Error::Worker(format!("the thread cannot be started: {error}")))?;
        let runtime = started.runtime.clone();
        *running = Some(started);
        Ok(runtime)
    }
}

/// Whether the caller is on a thread of a tokio runtime, where waiting may hold up other tasks.
pub(crate) fn on_runtime() -> bool {
    Handle::try_current().is_ok()
}

fn launch(id: u64) -> std::io::Result<Running> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    let runtime = Own(Some(runtime));
    let (stop, stopped) = oneshot::channel::<()>();
    thread::Builder::new()
        .name("reflect-io".to_owned())
        .spawn(move || {
            THIS_WORKER.set(id);
            runtime.run_until(stopped);
        })?;
    Ok(Running {
        runtime: handle,
        _stop: stop,
    })
}

/// A runtime that can be dropped anywhere, also inside another one, as when the thread cannot be
/// started. It does not wait for its blocking pool, which would delay the end of the process.
struct Own(Option<Runtime>);

impl Own {
    fn run_until(&self, stopped: oneshot::Receiver<()>) {
        if let Some(runtime) = &self.0 {
            // An error means that the sender, and so the client, is gone.
            let _ = runtime.block_on(stopped);
        }
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// A future that runs on the worker's thread. Any executor can await it.
pub(crate) struct Task<T>(JoinHandle<T>);

impl<T> Future for Task<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<T>> {
        let ended = ready!(Pin::new(&mut self.0).poll(cx));
        Poll::Ready(ended.map_err(|error| Error::Worker(error.to_string())))
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_panic_on_the_thread_is_an_error_and_the_next_call_works() {
        let worker = Worker::default();
        let panicked = worker.wait(
            async { panic!("boom") as Result<()> },
            Duration::from_secs(5),
        );
        assert!(matches!(panicked, Err(Error::Worker(_))), "{panicked:?}");
        assert_eq!(
            worker
                .wait(async { Ok(1) }, Duration::from_secs(5))
                .unwrap(),
            1
        );
    }

    #[test]
    fn a_blocking_call_on_the_thread_itself_is_refused() {
        let worker = Arc::new(Worker::default());
        let inner = Arc::clone(&worker);
        let limit = Duration::from_secs(5);
        let nested = worker.wait(async move { inner.wait(async { Ok(1) }, limit) }, limit);
        assert!(matches!(nested, Err(Error::WouldDeadlock)), "{nested:?}");
    }

    #[test]
    fn waiting_is_bounded() {
        let worker = Worker::default();
        let never = worker.wait(
            std::future::pending::<Result<()>>(),
            Duration::from_millis(1),
        );
        assert!(matches!(never, Err(Error::Timeout { .. })), "{never:?}");
    }

    #[tokio::test]
    async fn a_runtime_whose_thread_did_not_start_can_be_dropped_inside_another() {
        let runtime = Builder::new_current_thread().build().unwrap();
        drop(Own(Some(runtime)));
    }

    #[tokio::test]
    async fn a_dropped_task_is_cancelled() {
        let (alive, ended) = oneshot::channel::<()>();
        let worker = Worker::default();
        let task = worker.spawn(async move {
            let _alive = alive;
            std::future::pending::<()>().await;
        });
        drop(task.unwrap());
        assert!(ended.await.is_err());
    }
}
