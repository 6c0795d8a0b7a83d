use std::time::Duration;

use reflect_types::Backoff;

use crate::error::Error;

/// How often, and after which waits, a request is repeated.
#[derive(Clone, Debug)]
pub(crate) struct Retry {
    pub(crate) attempts: u32,
    pub(crate) backoff: Backoff,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            attempts: 3,
            backoff: Backoff {
                initial: Duration::from_millis(500),
                factor: 2,
                cap: Duration::from_secs(30),
                jitter: 0.5,
            },
        }
    }
}

impl Retry {
    /// The wait before the next attempt after `retries` of them; `None` if the error is final.
    pub(crate) fn wait(&self, error: &Error, retries: u32) -> Option<Duration> {
        if !error.is_retryable() || retries + 1 >= self.attempts {
            return None;
        }
        if let Some(asked) = error.retry_after() {
            // An earlier request would add to the load.
            return (asked <= self.backoff.cap).then_some(asked);
        }
        Some(self.backoff.delay(retries + 1, fastrand::f64()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy(retry_after: Option<u64>) -> Error {
        Error::Refused {
            status: 429,
            message: "slow down".to_owned(),
            retry_after: retry_after.map(Duration::from_secs),
        }
    }

    #[test]
    fn retry_after_is_honoured_up_to_the_longest_wait() {
        let retry = Retry::default();
        assert_eq!(retry.wait(&busy(Some(7)), 0), Some(Duration::from_secs(7)));
        assert_eq!(retry.wait(&busy(Some(3_600)), 0), None);
        assert_eq!(retry.wait(&busy(Some(7)), 2), None);
    }

    #[test]
    fn waits_grow_and_are_bounded() {
        let retry = Retry {
            attempts: u32::MAX,
            ..Retry::default()
        };
        let first = retry.wait(&busy(None), 0).unwrap();
        assert!(first >= Duration::from_millis(250) && first <= Duration::from_millis(500));
        let late = retry.wait(&busy(None), 1_000).unwrap();
        assert!(late >= Duration::from_secs(15) && late <= Duration::from_secs(30));
    }
}
