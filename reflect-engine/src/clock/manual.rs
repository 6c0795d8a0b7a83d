//! A clock for tests.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use tokio::sync::watch;

use super::{Clock, later};

/// A clock for tests, moved by hand.
#[derive(Clone, Debug)]
pub struct Manual {
    now: Arc<watch::Sender<Timestamp>>,
    /// The number of sleepers until each time.
    waiting: Arc<Mutex<BTreeMap<Timestamp, usize>>>,
}

impl Manual {
    /// A clock set to `now`.
    pub fn at(now: Timestamp) -> Self {
        Self {
            now: Arc::new(watch::Sender::new(now)),
            waiting: Arc::default(),
        }
    }

    /// Moves the clock forward and wakes the sleepers whose time has come.
    pub fn advance(&self, duration: Duration) {
        self.now.send_modify(|now| *now = later(*now, duration));
    }

    /// The number of sleepers whose time has not come.
    pub fn sleepers(&self) -> usize {
        let now = self.now();
        self.waiting()
            .range(now..)
            .map(|(time, count)| if *time > now { *count } else { 0 })
            .sum()
    }

    fn waiting(&self) -> MutexGuard<'_, BTreeMap<Timestamp, usize>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Clock for Manual {
    fn now(&self) -> Timestamp {
        *self.now.borrow()
    }

    async fn sleep_until(&self, time: Timestamp) {
        struct Asleep<'a>(&'a Manual, Timestamp);
        impl Drop for Asleep<'_> {
            fn drop(&mut self) {
                let mut waiting = self.0.waiting();
                if let Some(count) = waiting.get_mut(&self.1) {
                    *count -= 1;
                }
                waiting.retain(|_, count| *count > 0);
            }
        }
        let mut changes = self.now.subscribe();
        *self.waiting().entry(time).or_default() += 1;
        let _asleep = Asleep(self, time);
        // The sender is in `self`, so the channel is open.
        let _ = changes.wait_for(|now| *now >= time).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::text;

    #[tokio::test]
    async fn a_manual_clock_wakes_its_sleepers_when_it_is_moved_far_enough() {
        let clock = Manual::at(Timestamp::UNIX_EPOCH);
        let sleeper = tokio::spawn({
            let clock = clock.clone();
            async move {
                let time = later(clock.now(), Duration::from_secs(10));
                clock.sleep_until(time).await;
            }
        });
        while clock.sleepers() == 0 {
            tokio::task::yield_now().await;
        }
        clock.advance(Duration::from_secs(9));
        tokio::task::yield_now().await;
        assert!(!sleeper.is_finished());
        clock.advance(Duration::from_secs(1));
        sleeper.await.unwrap();
        assert_eq!(clock.sleepers(), 0);
        assert_eq!(text(clock.now()), "1970-01-01T00:00:10.000Z");
    }
}
