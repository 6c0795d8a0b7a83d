use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

/// Blocks the thread until the future is ready, for at most `limit`; the only place that blocks.
///
/// A lock and a condition variable work inside every runtime, without one, and in the destructors of
/// thread-locals, where parking a thread does not.
pub(crate) fn block_on<F: Future>(future: F, limit: Duration) -> Option<F::Output> {
    let mut future = pin!(future);
    let signal = Arc::new(Signal::default());
    let waker = Waker::from(Arc::clone(&signal));
    let start = Instant::now();
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Some(value);
        }
        if !signal.wait(limit.saturating_sub(start.elapsed())) {
            return None;
        }
    }
}

#[derive(Default)]
struct Signal {
    is_given: Mutex<bool>,
    given: Condvar,
}

impl Signal {
    /// Whether the signal came in time. Takes it.
    fn wait(&self, limit: Duration) -> bool {
        let is_given = self.is_given.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .given
            .wait_timeout_while(is_given, limit, |is_given| !*is_given);
        std::mem::take(&mut *waited.unwrap_or_else(PoisonError::into_inner).0)
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        *self.is_given.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.given.notify_one();
    }
}
