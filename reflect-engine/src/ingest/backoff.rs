//! Exponential back-off.

use std::time::Duration;

/// Delays that grow by a factor with each failed attempt, up to a limit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Backoff {
    /// The shortest delay after the first failure.
    pub(super) first: Duration,
    pub(super) factor: u32,
    pub(super) longest: Duration,
}

impl Backoff {
    /// The delay after so many failures. Random jitter of up to twice the shortest delay spreads
    /// retries of attempts that failed together.
    pub(super) fn delay(&self, failures: u32) -> Duration {
        let factor = self.factor.saturating_pow(failures.saturating_sub(1));
        let shortest = self.first.saturating_mul(factor).min(self.longest);
        shortest.mul_f64(1.0 + fastrand::f64()).min(self.longest)
    }

    /// The delay after so many failures, no shorter than the server asks for, up to the limit.
    pub(super) fn delay_or(&self, failures: u32, retry_after: Option<Duration>) -> Duration {
        let asked = retry_after.unwrap_or_default().min(self.longest);
        self.delay(failures).max(asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BACKOFF: Backoff = Backoff {
        first: Duration::from_secs(1),
        factor: 4,
        longest: Duration::from_secs(60),
    };

    #[test]
    fn delays_grow_with_jitter_up_to_the_limit() {
        for (failures, shortest, longest) in [(1, 1, 2), (2, 4, 8), (3, 16, 32), (4, 60, 60)] {
            for _ in 0..100 {
                let delay = BACKOFF.delay(failures);
                assert!(delay >= Duration::from_secs(shortest), "{delay:?}");
                assert!(delay <= Duration::from_secs(longest), "{delay:?}");
            }
        }
        assert_eq!(BACKOFF.delay(u32::MAX), BACKOFF.longest);
    }

    #[test]
    fn a_server_can_ask_for_a_longer_delay_up_to_the_limit() {
        let asked = |seconds| BACKOFF.delay_or(1, Some(Duration::from_secs(seconds)));
        assert_eq!(asked(30), Duration::from_secs(30));
        assert_eq!(asked(3_600), BACKOFF.longest);
        assert!(asked(0) >= BACKOFF.first);
    }
}
