//! Failed attempts to authenticate, per address of the client.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::client_address::network;

/// Failures without a wait.
const FREE: u32 = 10;
/// The wait after the last free failure. It doubles with each further one.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const MAX_WAIT: Duration = Duration::from_secs(5 * 60);
/// Time after which failures are forgotten.
const MEMORY: Duration = Duration::from_secs(15 * 60);
/// Addresses per generation. Two generations are kept, so that the memory is bounded and the addresses
/// with the latest attempts stay.
const GENERATION: usize = 5_000;

/// Counts failures per IPv4 address or IPv6 /64, which is what one client gets.
#[derive(Debug, Default)]
pub(crate) struct FailedAttempts {
    generations: Mutex<Generations>,
}

#[derive(Debug, Default)]
struct Generations {
    current: HashMap<IpAddr, Failures>,
    previous: HashMap<IpAddr, Failures>,
}

#[derive(Clone, Copy, Debug)]
struct Failures {
    count: u32,
    last: Instant,
}

/// An attempt that counts as a failure, unless it is forgiven.
#[derive(Debug)]
#[must_use]
pub(crate) struct Attempt<'a> {
    attempts: &'a FailedAttempts,
    counted: Option<Counted>,
}

#[derive(Clone, Copy, Debug)]
struct Counted {
    network: IpAddr,
    at: Instant,
    /// The failure before this attempt.
    previous: Option<Instant>,
}

impl FailedAttempts {
    /// Begins an attempt, or refuses it with the time to wait. An attempt from an unknown address is not
    /// limited.
    pub(crate) fn begin(&self, address: Option<IpAddr>) -> Result<Attempt<'_>, Duration> {
        self.begin_at(address, Instant::now())
    }

    fn begin_at(&self, address: Option<IpAddr>, now: Instant) -> Result<Attempt<'_>, Duration> {
        let counted = match address {
            Some(address) => Some(self.lock().count(network(address), now)?),
            None => None,
        };
        Ok(Attempt {
            attempts: self,
            counted,
        })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Generations> {
        self.generations
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Generations {
    fn count(&mut self, network: IpAddr, now: Instant) -> Result<Counted, Duration> {
        let known = self.take(network);
        let known = known.filter(|known| now.saturating_duration_since(known.last) < MEMORY);
        let Some(known) = known else {
            self.keep(
                network,
                Failures {
                    count: 1,
                    last: now,
                },
            );
            return Ok(Counted {
                network,
                at: now,
                previous: None,
            });
        };
        let passed = now.saturating_duration_since(known.last);
        let wait = wait_after(known.count).saturating_sub(passed);
        if !wait.is_zero() {
            self.keep(network, known);
            return Err(wait);
        }
        let count = known.count.saturating_add(1);
        if count == FREE {
            tracing::warn!(address = %network, "too many wrong keys: further ones are slowed");
        }
        self.keep(network, Failures { count, last: now });
        Ok(Counted {
            network,
            at: now,
            previous: Some(known.last),
        })
    }

    fn forgive(&mut self, counted: Counted) {
        let Some(mut known) = self.take(counted.network) else {
            return;
        };
        known.count = known.count.saturating_sub(1);
        if let Some(previous) = counted.previous
            && known.last == counted.at
        {
            known.last = previous;
        }
        if known.count > 0 {
            self.keep(counted.network, known);
        }
    }

    fn take(&mut self, network: IpAddr) -> Option<Failures> {
        let current = self.current.remove(&network);
        current.or_else(|| self.previous.remove(&network))
    }

    fn keep(&mut self, network: IpAddr, failures: Failures) {
        if self.current.len() >= GENERATION {
            self.previous = std::mem::take(&mut self.current);
        }
        self.current.insert(network, failures);
    }
}

impl Attempt<'_> {
    /// Takes the attempt back: it was not a guess.
    pub(crate) fn forgive(self) {
        if let Some(counted) = self.counted {
            self.attempts.lock().forgive(counted);
        }
    }
}

/// The time that must pass between the last failure and the next attempt.
fn wait_after(failures: u32) -> Duration {
    let Some(doublings) = failures.checked_sub(FREE) else {
        return Duration::ZERO;
    };
    let factor = 1_u32.checked_shl(doublings).unwrap_or(u32::MAX);
    FIRST_WAIT.saturating_mul(factor).min(MAX_WAIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin<'a>(
        attempts: &'a FailedAttempts,
        address: &str,
        now: Instant,
    ) -> Result<Attempt<'a>, Duration> {
        attempts.begin_at(Some(address.parse().unwrap()), now)
    }

    #[test]
    fn waits_grow_and_refused_attempts_do_not_extend_them() {
        let attempts = FailedAttempts::default();
        let guesser = "192.0.2.1";
        let mut now = Instant::now();
        for _ in 0..FREE {
            assert!(begin(&attempts, guesser, now).is_ok());
        }
        for seconds in [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300] {
            for _ in 0..100 {
                let wait = begin(&attempts, guesser, now).unwrap_err();
                assert_eq!(wait, Duration::from_secs(seconds));
            }
            now += Duration::from_secs(seconds);
            assert!(begin(&attempts, guesser, now).is_ok());
        }
        assert!(begin(&attempts, "192.0.2.2", now).is_ok());
        now += MEMORY;
        for _ in 0..FREE {
            assert!(begin(&attempts, guesser, now).is_ok());
        }
    }

    #[test]
    fn forgiven_attempts_leave_no_trace() {
        let attempts = FailedAttempts::default();
        for _ in 0..100 {
            let client = "192.0.2.1".parse().unwrap();
            attempts.begin(Some(client)).unwrap().forgive();
        }
        assert!(attempts.lock().current.is_empty());
        // Valid keys do not prolong the wait of others at the address.
        let now = Instant::now();
        for _ in 0..FREE {
            assert!(begin(&attempts, "192.0.2.1", now).is_ok());
        }
        let later = now + FIRST_WAIT;
        begin(&attempts, "192.0.2.1", later).unwrap().forgive();
        assert!(begin(&attempts, "192.0.2.1", later).is_ok());
    }

    #[test]
    fn addresses_of_one_ipv6_network_count_as_one() {
        let attempts = FailedAttempts::default();
        let now = Instant::now();
        for last in 0..FREE {
            let one = format!("2001:db8::{last:x}");
            assert!(begin(&attempts, &one, now).is_ok());
        }
        assert!(begin(&attempts, "2001:db8::ffff:1", now).is_err());
        assert!(begin(&attempts, "2001:db8:0:1::1", now).is_ok());
        let mapped = network("::ffff:192.0.2.1".parse().unwrap());
        assert_eq!(mapped.to_string(), "192.0.2.1");
    }

    #[test]
    fn memory_is_bounded_and_keeps_the_busiest() {
        let attempts = FailedAttempts::default();
        let now = Instant::now();
        let busy = "192.0.2.1";
        for _ in 0..FREE {
            assert!(begin(&attempts, busy, now).is_ok());
        }
        for other in 0..100_000_u32 {
            let other = IpAddr::V4((0x0a00_0000 + other).into());
            assert!(attempts.begin_at(Some(other), now).is_ok());
            assert!(begin(&attempts, busy, now).is_err());
        }
        let kept = attempts.lock();
        assert!(kept.current.len() + kept.previous.len() <= 2 * GENERATION);
    }
}
