//! The engine's clock, which leases, back-off and timestamps use. Tests move it by hand instead of
//! waiting.

#[cfg(any(test, feature = "test-support"))]
mod manual;

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
#[cfg(any(test, feature = "test-support"))]
pub use manual::Manual;

/// A source of time.
#[async_trait]
pub trait Clock: Send + Sync + 'static {
    /// The current time.
    fn now(&self) -> Timestamp;

    /// Sleeps until `time`; returns immediately if it has passed.
    async fn sleep_until(&self, time: Timestamp);
}

/// The system clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

#[async_trait]
impl Clock for System {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    async fn sleep_until(&self, time: Timestamp) {
        let left = time.duration_since(self.now());
        tokio::time::sleep(Duration::try_from(left).unwrap_or_default()).await;
    }
}

/// `time` plus `by`, at most the largest timestamp.
pub(crate) fn later(time: Timestamp, by: Duration) -> Timestamp {
    time.checked_add(by).unwrap_or(Timestamp::MAX)
}

/// The stored form of a time: RFC 3339 in UTC, to the millisecond.
pub(crate) fn text(time: Timestamp) -> String {
    format!("{time:.3}")
}
