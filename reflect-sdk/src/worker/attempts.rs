//! Trying again without anybody waiting for it.

use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::retry::{RetryPolicy, far};
use crate::error::{Error, Result};

/// The attempts at a call that nobody waits for. In between it rests, wherever its owner puts it.
#[derive(Debug, Default)]
pub(crate) struct Attempts {
    made: u32,
    /// When the time is up; it begins with the first attempt.
    deadline: Option<Instant>,
}

/// What came of one attempt.
#[derive(Debug)]
pub(crate) enum Attempt<T> {
    /// It worked, or there is no use in another one.
    Last(Result<T>),
    /// Another one is due, after this wait.
    Rest(Duration),
}

impl Attempts {
    /// Makes one attempt. Where the next wait would end after the time is up, it ends when it is, so
    /// that there is one last attempt.
    pub(crate) async fn make<T>(
        &mut self,
        policy: RetryPolicy,
        limit: Duration,
        call: impl Future<Output = Result<T>>,
    ) -> Attempt<T> {
        /// What the last attempt gets, if the time is up already.
        const LAST: Duration = Duration::from_secs(10);

        let deadline = *self.deadline.get_or_insert_with(|| far(limit));
        let left = |now: Instant| deadline.saturating_duration_since(now);
        let at_least = if self.made == 0 { Duration::ZERO } else { LAST };
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
        let wait = policy.wait(self.made, &error).min(left);
        self.made += 1;
        if !error.is_retryable() || self.made >= policy.attempts || left.is_zero() {
            return Attempt::Last(Err(error));
        }
        tracing::debug!(target: "reflect", %error, retry = self.made, ?wait, "retrying");
        Attempt::Rest(wait)
    }
}

#[cfg(test)]
mod tests {
    use reflect_types::ErrorCode;
    use tokio::time::sleep;

    use super::super::retry::tests::refused;
    use super::*;

    const LIMIT: Duration = Duration::from_secs(120);

    /// Plays the error for ever, or until it worked; tells how often it was tried, for how long.
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
                Attempt::Rest(wait) => sleep(wait).await,
            }
        }
    }

    fn patient() -> RetryPolicy {
        RetryPolicy::default().attempts(u32::MAX)
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_asks_for_no_wait_is_not_asked_in_a_loop() {
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
    async fn what_nobody_waits_for_is_tried_when_the_time_is_up_whatever_the_server_asks_for() {
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
    async fn what_nobody_waits_for_ends_with_its_attempts_or_a_final_error() {
        let policy = RetryPolicy::default().attempts(5);
        let down = |_| Some(refused(ErrorCode::Unavailable, None));
        let (result, calls, _) = play_in_background(policy, down).await;
        assert_eq!((result.unwrap_err().status(), calls), (Some(503), 5));
        let wrong = |_| Some(refused(ErrorCode::Conflict, None));
        let (result, calls, _) = play_in_background(policy, wrong).await;
        assert_eq!((result.unwrap_err().status(), calls), (Some(409), 1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_last_attempt_that_hangs_ends_soon_after_the_time_is_up() {
        let (start, mut attempts) = (Instant::now(), Attempts::default());
        let fault = async { Err(refused(ErrorCode::Unavailable, Some(900))) };
        let Attempt::Rest(wait) = attempts.make::<u32>(patient(), LIMIT, fault).await else {
            panic!("there is time left");
        };
        sleep(wait).await;
        let hung = std::future::pending::<Result<u32>>();
        let hung = attempts.make(patient(), LIMIT, hung).await;
        assert!(
            matches!(hung, Attempt::Last(Err(Error::Timeout { .. }))),
            "{hung:?}"
        );
        assert!(start.elapsed() < LIMIT + Duration::from_secs(11));
    }
}
