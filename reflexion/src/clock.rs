//! Time and blocking for loops under any executor, or none.

use std::future::{Future, pending};
use std::panic::resume_unwind;
use std::sync::OnceLock;
use std::time::Duration;
use std::{io, thread};

use tokio::runtime::{Builder, Handle};
use tokio::time::timeout;

/// The future's output, or `None` after `limit`; the future is then dropped.
///
/// The caller's executor may have no timer, so the time comes from a runtime of this crate.
pub(crate) async fn within<T>(limit: Duration, future: impl Future<Output = T>) -> Option<T> {
    let Some(clock) = clock() else {
        return Some(future.await);
    };
    let limited = {
        let _entered = clock.enter();
        timeout(limit, future)
    };
    limited.await.ok()
}

/// The runtime that keeps the time, started on first use.
fn clock() -> Option<&'static Handle> {
    static CLOCK: OnceLock<Option<Handle>> = OnceLock::new();

    let start = || -> io::Result<Handle> {
        let runtime = Builder::new_current_thread().enable_time().build()?;
        let handle = runtime.handle().clone();
        thread::Builder::new()
            .name("reflexion-clock".to_owned())
            .spawn(move || runtime.block_on(pending::<()>()))?;
        Ok(handle)
    };
    CLOCK
        .get_or_init(|| {
            let started = start();
            started
                .inspect_err(
                    |error| tracing::warn!(%error, "no thread for timeouts: none will fire"),
                )
                .ok()
        })
        .as_ref()
}

/// Runs a future to its end on a tokio runtime of its own: on this thread, or, inside another
/// tokio runtime, which cannot be nested, on a new thread.
pub(crate) fn block_on<T: Send + 'static>(
    future: impl Future<Output = T> + Send + 'static,
) -> io::Result<T> {
    let run = move || {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        Ok(runtime.block_on(future))
    };
    if Handle::try_current().is_err() {
        return run();
    }
    let thread = thread::Builder::new().name("reflexion-run".to_owned());
    let output = thread.spawn(run)?.join();
    output.unwrap_or_else(|panic| resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ready_future_counts_even_without_time() {
        for limit in [Duration::ZERO, Duration::MAX] {
            let ended = pollster::block_on(within(limit, async { 1 }));
            assert_eq!(ended, Some(1));
        }
    }
}
