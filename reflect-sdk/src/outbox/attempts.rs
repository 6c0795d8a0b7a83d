//! Attempts that no caller waits for.

use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use crate::core::{Retries, RetryPolicy, Wait, far};
use crate::error::{Error, Result};

/// The attempts at one submission. Between them its owner lets it rest.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    retries: Retries,
    /// The end of its time, which begins with the first attempt.
    deadline: Option<Instant>,
}

/// The result of one attempt.
#[derive(Debug)]
pub(super) enum Attempt<T> {
    /// It succeeded, or another attempt is pointless.
    Last(Result<T>),
    /// Another attempt is due after this wait.
    Rest(Wait),
}

impl Attempts {
    /// Makes one attempt. A wait that would end after the deadline ends at the deadline, so that there
    /// is one last attempt.
    pub(super) async fn make<T>(
        &mut self,
        policy: RetryPolicy,
        limit: Duration,
        call: impl Future<Output = Result<T>>,
    ) -> Attempt<T> {
        /// The time of the last attempt, if the deadline has passed already.
        const LAST: Duration = Duration::from_secs(10);

        let at_least = self.deadline.map_or(Duration::ZERO, |_| LAST);
        let deadline = *self.deadline.get_or_insert_with(|| far(limit));
        let left = |now: Instant| deadline.saturating_duration_since(now);
        let outcome = timeout(left(Instant::now()).max(at_least), call).await;
        let outcome = outcome.unwrap_or_else(|_| {
            Err(Error::Timeout {
                what: "the call to Reflect".to_owned(),
                after: limit,
            })
        });
        let error = match outcome {
            Ok(value) => return Attempt::Last(Ok(value)),
            Err(error) => error,
        };
        let left = left(Instant::now());
        if !error.is_retryable() || left.is_zero() {
            return Attempt::Last(Err(error));
        }
        match self.retries.after(policy, &error) {
            Some(wait) => Attempt::Rest(wait.min(left)),
            None => Attempt::Last(Err(error)),
        }
    }

    /// Takes the last failed attempt back.
    pub(super) fn uncount(&mut self) {
        self.retries.uncount();
    }
}

#[cfg(test)]
mod tests {
    use reflect_types::ErrorCode;
    use tokio::time::sleep;

    use super::*;
    use crate::error::ApiError;

    const LIMIT: Duration = Duration::from_secs(120);

    fn refused(code: ErrorCode, retry_after: Option<u64>) -> Error {
        ApiError::refusal(code, retry_after.map(Duration::from_secs))
    }

    /// Plays the errors until the last attempt. Returns its result, the number of calls and the time.
    async fn play_in_background(
        policy: RetryPolicy,
        error: impl Fn(u32) -> Option<Error>,
    ) -> (Result<u32>, u32, Duration) {
        let (start, mut attempts, mut calls) = (Instant::now(), Attempts::default(), 0);
        loop {
            let outcome = error(calls).map_or(Ok(7), Err);
            calls += 1;
            match attempts.make(policy, LIMIT, async { outcome }).await {
                Attempt::Last(outcome) => return (outcome, calls, start.elapsed()),
                Attempt::Rest(wait) => sleep(wait.total).await,
            }
        }
    }

    fn patient() -> RetryPolicy {
        RetryPolicy::default().attempts(u32::MAX)
    }

    #[tokio::test(start_paused = true)]
    async fn a_zero_retry_after_does_not_cause_a_busy_loop() {
        let at_once = |_| Some(refused(ErrorCode::Unavailable, Some(0)));
        let (result, calls, took) = play_in_background(patient(), at_once).await;
        assert_eq!(result.unwrap_err().status(), Some(503));
        // Waits of 10 s on average, once they are as long as they get.
        assert!(calls < 100, "{calls} calls");
        assert!(
            took >= LIMIT && took < LIMIT + Duration::from_secs(1),
            "{took:?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_attempt_is_at_the_deadline_however_long_the_retry_after() {
        let later = |call| (call == 0).then(|| refused(ErrorCode::Unavailable, Some(900)));
        let (result, calls, took) = play_in_background(patient(), later).await;
        assert_eq!((result.unwrap(), calls), (7, 2));
        assert!(
            took >= LIMIT && took < LIMIT + Duration::from_secs(1),
            "{took:?}"
        );
        let ever = |_| Some(refused(ErrorCode::Unavailable, Some(900)));
        let (result, calls, _) = play_in_background(patient(), ever).await;
        assert_eq!((result.unwrap_err().status(), calls), (Some(503), 2));
    }

    #[tokio::test(start_paused = true)]
    async fn attempts_end_with_their_number_or_a_final_error() {
        let policy = RetryPolicy::default().attempts(5);
        let down = |_| Some(refused(ErrorCode::Unavailable, None));
        let (result, calls, _) = play_in_background(policy, down).await;
        assert_eq!((result.unwrap_err().status(), calls), (Some(503), 5));
        let wrong = |_| Some(refused(ErrorCode::Conflict, None));
        let (result, calls, _) = play_in_background(policy, wrong).await;
        assert_eq!((result.unwrap_err().status(), calls), (Some(409), 1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_last_attempt_that_hangs_ends_soon_after_the_deadline() {
        let (start, mut attempts) = (Instant::now(), Attempts::default());
        let fault = async { Err(refused(ErrorCode::Unavailable, Some(900))) };
        let Attempt::Rest(wait) = attempts.make::<u32>(patient(), LIMIT, fault).await else {
            panic!("there is time left");
        };
        sleep(wait.total).await;
        let hung = std::future::pending::<Result<u32>>();
        let hung = attempts.make(patient(), LIMIT, hung).await;
        assert!(
            matches!(hung, Attempt::Last(Err(Error::Timeout { .. }))),
            "{hung:?}"
        );
        assert!(start.elapsed() < LIMIT + Duration::from_secs(11));
    }
}
