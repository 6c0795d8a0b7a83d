use std::time::Duration;

/// Exponential back-off with jitter.
///
/// It is pure: the caller counts the failures and draws the random numbers.
///
/// ```
/// use std::time::Duration;
///
/// use reflect_types::Backoff;
///
/// const BACKOFF: Backoff = Backoff {
///     initial: Duration::from_secs(1),
///     factor: 2,
///     cap: Duration::from_secs(30),
///     jitter: 0.5,
/// };
/// assert_eq!(BACKOFF.delay(1, 0.0), Duration::from_secs(1));
/// assert_eq!(BACKOFF.delay(3, 0.0), Duration::from_secs(4));
/// // Half of a delay is random.
/// assert_eq!(BACKOFF.delay(3, 1.0), Duration::from_secs(2));
/// assert_eq!(BACKOFF.delay(100, 0.0), Duration::from_secs(30));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Backoff {
    /// The longest delay after the first failure.
    pub initial: Duration,
    /// The growth of the longest delay with each further failure.
    pub factor: u32,
    /// The longest delay after any number of failures.
    pub cap: Duration,
    /// The random part of a delay, from 0 (none) to 1 (all of it). It spreads the retries of attempts
    /// that failed together.
    pub jitter: f64,
}

impl Backoff {
    /// The delay after this many failures. `random` is a number from 0 to 1.
    #[must_use]
    pub fn delay(&self, failures: u32, random: f64) -> Duration {
        let growth = self.factor.saturating_pow(failures.saturating_sub(1));
        let longest = self.initial.saturating_mul(growth).min(self.cap);
        longest.mul_f64((1.0 - self.jitter * random).clamp(0.0, 1.0))
    }

    /// Like [`delay`](Self::delay), and at least what a server asks for, up to the cap.
    #[must_use]
    pub fn delay_or(&self, failures: u32, random: f64, retry_after: Option<Duration>) -> Duration {
        let asked = retry_after.unwrap_or_default().min(self.cap);
        self.delay(failures, random).max(asked)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BACKOFF: Backoff = Backoff {
        initial: Duration::from_secs(2),
        factor: 4,
        cap: Duration::from_secs(60),
        jitter: 0.5,
    };

    #[test]
    fn a_server_can_ask_for_a_longer_delay_up_to_the_cap() {
        let asked = |seconds| BACKOFF.delay_or(1, 0.5, Some(Duration::from_secs(seconds)));
        assert_eq!(asked(30), Duration::from_secs(30));
        assert_eq!(asked(3_600), BACKOFF.cap);
        assert_eq!(asked(0), BACKOFF.delay(1, 0.5));
    }

    proptest! {
        #[test]
        fn every_delay_lies_within_its_bounds(
            failures: u32, random in 0.0..=1.0, jitter in 0.0..=1.0,
        ) {
            let backoff = Backoff { jitter, ..BACKOFF };
            let longest = backoff.delay(failures, 0.0);
            let delay = backoff.delay(failures, random);
            prop_assert!(delay <= longest && longest <= backoff.cap);
            prop_assert!(delay >= longest.mul_f64(1.0 - jitter));
            prop_assert!(longest <= backoff.delay(failures.saturating_add(1), 0.0));
        }
    }
}
