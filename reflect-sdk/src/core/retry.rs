use std::future::Future;
use std::time::Duration;

use reflect_types::{Backoff, Repeat};
use tokio::time::{Instant, sleep, timeout_at};
use uuid::Uuid;

use crate::error::{Error, Result};

/// The number of attempts at a call, and the waits between them.
///
/// The bound of a wait doubles from `base` to `cap`, and the wait is drawn at random from zero to
/// that bound, so that many clients do not retry at the same moment. A `Retry-After` header makes a wait
/// longer, never shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    attempts: u32,
    base: Duration,
    cap: Duration,
}

impl RetryPolicy {
    /// A single attempt.
    pub fn never() -> Self {
        Self {
            attempts: 1,
            ..Self::default()
        }
    }

    /// Sets the total number of attempts; 0 counts as 1.
    #[must_use]
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts.max(1);
        self
    }

    /// Sets the bound of the first wait, and of every wait.
    #[must_use]
    pub fn backoff(mut self, base: Duration, cap: Duration) -> Self {
        (self.base, self.cap) = (base, cap);
        self
    }

    /// Whether there is another attempt after this many failed ones.
    pub(crate) fn allows(self, failed: u32) -> bool {
        failed < self.attempts
    }

    /// A random wait after this many failed attempts.
    pub(crate) fn wait(self, failed: u32) -> Duration {
        let backoff = Backoff {
            initial: self.base,
            factor: 2,
            cap: self.cap,
            jitter: 1.0,
        };
        backoff.delay(failed, random_fraction())
    }
}

impl Default for RetryPolicy {
    /// Three attempts, waiting up to 250 ms, then up to 500 ms.
    fn default() -> Self {
        Self {
            attempts: 3,
            base: Duration::from_millis(250),
            cap: Duration::from_secs(20),
        }
    }
}

/// A random number from 0 to 1, from the random bits of a UUID.
fn random_fraction() -> f64 {
    let [.., a, b, c, d] = Uuid::new_v4().into_bytes();
    f64::from(u32::from_be_bytes([a, b, c, d])) / f64::from(u32::MAX)
}

/// The time after this limit; at most a year from now, which every clock can represent.
pub(crate) fn far(limit: Duration) -> Instant {
    const YEAR: Duration = Duration::from_secs(365 * 86_400);
    Instant::now() + limit.min(YEAR)
}

/// Calls until it succeeds, the error is final, the attempts are used up or the limit has passed.
pub(super) async fn with_retries<T, F>(
    policy: RetryPolicy,
    limit: Duration,
    repeat: Repeat,
    mut call: impl FnMut() -> F,
) -> Result<T>
where
    F: Future<Output = Result<T>>,
{
    let deadline = far(limit);
    let mut failed = 0;
    loop {
        let Ok(outcome) = timeout_at(deadline, call()).await else {
            return Err(Error::timeout("the call to Reflect", limit));
        };
        let error = match outcome {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        let may_repeat = match repeat {
            Repeat::Freely => error.is_retryable(),
            _ => error.nothing_was_done(),
        };
        failed += 1;
        // At least what the server asks for, and never nothing on average.
        let wait = error.retry_after().unwrap_or_default();
        let wait = wait.max(policy.wait(failed));
        let left = deadline.saturating_duration_since(Instant::now());
        // Waiting past the deadline would only replace this error by a less informative one.
        if !may_repeat || !policy.allows(failed) || wait >= left {
            return Err(error);
        }
        tracing::debug!(target: "reflect", %error, failed, ?wait, "retrying");
        sleep(wait).await;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use reflect_types::ErrorCode;

    use super::*;
    use crate::error::ApiError;

    const LIMIT: Duration = Duration::from_secs(120);

    fn refused(code: ErrorCode, retry_after: Option<u64>) -> Error {
        ApiError::refusal(code, retry_after.map(Duration::from_secs))
    }

    fn lost(maybe_done: bool) -> Error {
        Error::Transport {
            message: "lost".to_owned(),
            maybe_done,
            source: None,
        }
    }

    /// Plays the errors, then succeeds; tells how often it was called and how long it took.
    async fn play(
        policy: RetryPolicy,
        limit: Duration,
        repeat: Repeat,
        errors: Vec<Error>,
    ) -> (Result<u32>, u32, Duration) {
        let script = RefCell::new(errors.into_iter());
        let calls = RefCell::new(0);
        let start = Instant::now();
        let result = with_retries(policy, limit, repeat, || {
            *calls.borrow_mut() += 1;
            let next = script.borrow_mut().next();
            async move { next.map_or(Ok(7), Err) }
        })
        .await;
        (result, calls.into_inner(), start.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn a_transient_fault_is_retried_within_the_jitter_bounds() {
        let faults = vec![refused(ErrorCode::Unavailable, None), lost(true)];
        let (result, calls, took) =
            play(RetryPolicy::default(), LIMIT, Repeat::Freely, faults).await;
        assert_eq!((result.unwrap(), calls), (7, 3));
        assert!(took <= Duration::from_millis(250 + 500 + 2), "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn retry_after_is_honoured_to_the_second() {
        let faults = vec![refused(ErrorCode::RateLimited, Some(7))];
        let (result, _, took) = play(RetryPolicy::default(), LIMIT, Repeat::Freely, faults).await;
        assert!(result.is_ok());
        assert!(
            took >= Duration::from_secs(7) && took < Duration::from_secs(8),
            "{took:?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_retry_after_beyond_the_deadline_fails_immediately() {
        let faults = vec![refused(ErrorCode::RateLimited, Some(3_600))];
        let (result, calls, took) =
            play(RetryPolicy::default(), LIMIT, Repeat::Freely, faults).await;
        assert_eq!(
            result.unwrap_err().retry_after(),
            Some(Duration::from_secs(3_600))
        );
        assert_eq!((calls, took), (1, Duration::ZERO));
    }

    #[tokio::test(start_paused = true)]
    async fn a_permanent_error_is_not_retried() {
        for code in [
            ErrorCode::MalformedJson,
            ErrorCode::Unauthorized,
            ErrorCode::Conflict,
        ] {
            let (result, calls, _) = play(
                RetryPolicy::default(),
                LIMIT,
                Repeat::Freely,
                vec![refused(code.clone(), None)],
            )
            .await;
            assert_eq!((result.unwrap_err().code(), calls), (Some(&code), 1));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_limit_of_attempts_includes_the_first() {
        let faults = || {
            (0..9)
                .map(|_| refused(ErrorCode::Unavailable, None))
                .collect()
        };
        for (policy, expected) in [
            (RetryPolicy::never(), 1),
            (RetryPolicy::default().attempts(5), 5),
        ] {
            let (result, calls, _) = play(policy, LIMIT, Repeat::Freely, faults()).await;
            assert_eq!((result.unwrap_err().status(), calls), (Some(503), expected));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_unrepeatable_call_is_retried_only_if_it_was_not_done() {
        let policy = RetryPolicy::default();
        let (result, calls, _) = play(policy, LIMIT, Repeat::IfNotDone, vec![lost(true)]).await;
        assert!(result.is_err());
        assert_eq!(calls, 1);
        let safe = vec![lost(false), refused(ErrorCode::Unavailable, None)];
        let (result, calls, _) = play(policy, LIMIT, Repeat::IfNotDone, safe).await;
        assert_eq!((result.unwrap(), calls), (7, 3));
    }

    #[tokio::test(start_paused = true)]
    async fn a_hanging_call_ends_at_the_deadline() {
        let start = Instant::now();
        let hung: Result<()> = with_retries(
            RetryPolicy::default(),
            LIMIT,
            Repeat::Freely,
            std::future::pending,
        )
        .await;
        assert!(matches!(hung, Err(Error::Timeout { .. })), "{hung:?}");
        assert!((LIMIT..LIMIT + Duration::from_millis(5)).contains(&start.elapsed()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_retry_after_of_zero_still_waits() {
        let faults = vec![
            refused(ErrorCode::Unavailable, Some(0)),
            refused(ErrorCode::Unavailable, Some(0)),
        ];
        let (result, calls, took) =
            play(RetryPolicy::default(), LIMIT, Repeat::Freely, faults).await;
        assert_eq!((result.unwrap(), calls), (7, 3));
        assert!(took > Duration::ZERO);
    }
}
