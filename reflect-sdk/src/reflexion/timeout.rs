use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use super::timer::Timer;

/// The future's output, or `None` if it takes longer; then it is dropped, which stops it.
pub(super) async fn within<T>(
    limit: Duration,
    timer: &dyn Timer,
    future: impl Future<Output = T>,
) -> Option<T> {
    let mut future = pin!(future);
    let mut sleep = timer.sleep(limit);
    poll_fn(|context| {
        // What is done in time counts, even if the time is just over.
        if let Poll::Ready(output) = future.as_mut().poll(context) {
            return Poll::Ready(Some(output));
        }
        sleep.as_mut().poll(context).map(|()| None)
    })
    .await
}
