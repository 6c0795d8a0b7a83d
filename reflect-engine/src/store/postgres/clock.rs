//! The clock of the database, which all servers share.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use crate::clock::{Clock, System};

/// The database's time: the system's, moved by the difference that the store last measured. It
/// measures with every look for jobs, so leases of servers with different clocks agree.
#[derive(Clone)]
pub struct DatabaseClock {
    /// The clock of this machine.
    system: Arc<dyn Clock>,
    /// The database's time less the system's, in milliseconds.
    difference: Arc<AtomicI64>,
}

/// The least change of the difference that is not the delay of a measurement: the system's clock was set.
const SET: SignedDuration = SignedDuration::from_secs(1);

impl DatabaseClock {
    pub(super) fn new(system: Arc<dyn Clock>) -> Self {
        Self {
            system,
            difference: Arc::default(),
        }
    }

    /// The time of this machine.
    pub(super) fn system_now(&self) -> Timestamp {
        self.system.now()
    }

    /// Notes what the database's clock showed between two times of the system's. Returns how far times that
    /// were read shortly before are wrong, because the system's clock was set since the last measurement.
    pub(super) fn measure(
        &self,
        before: Timestamp,
        shown: i64,
        after: Timestamp,
    ) -> SignedDuration {
        let middle = i64::midpoint(before.as_millisecond(), after.as_millisecond());
        let difference = shown.saturating_sub(middle);
        let known = self.difference.swap(difference, Ordering::Relaxed);
        let moved = SignedDuration::from_millis(difference.saturating_sub(known));
        if moved.abs() < SET {
            SignedDuration::ZERO
        } else {
            moved
        }
    }

    /// How far the database's clock is ahead of the system's.
    pub fn difference(&self) -> SignedDuration {
        SignedDuration::from_millis(self.difference.load(Ordering::Relaxed))
    }
}

impl Default for DatabaseClock {
    fn default() -> Self {
        Self::new(Arc::new(System))
    }
}

impl std::fmt::Debug for DatabaseClock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DatabaseClock")
            .field("difference", &self.difference())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Clock for DatabaseClock {
    fn now(&self) -> Timestamp {
        let now = self.system_now();
        now.checked_add(self.difference()).unwrap_or(now)
    }

    async fn sleep_until(&self, time: Timestamp) {
        let left = time.duration_since(self.now());
        tokio::time::sleep(Duration::try_from(left).unwrap_or_default()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_shows_the_time_of_the_database() {
        let clock = DatabaseClock::default();
        let at = |second| Timestamp::from_second(second).unwrap();
        clock.measure(at(100), 1_101_000, at(102));
        assert_eq!(clock.difference(), SignedDuration::from_secs(1_000));
        let ahead = clock.now().duration_since(Timestamp::now());
        assert!((ahead - SignedDuration::from_secs(1_000)).abs() < SignedDuration::from_secs(5));
    }
}
