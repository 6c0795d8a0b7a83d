use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::error::{Error, Result};

/// How often a call is tried, and how long is waited in between.
///
/// Waits grow twofold from `base` to `cap` and are drawn at random from zero to that bound, so that
/// many clients do not come back at once. A server's `Retry-After` makes them longer, not shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    attempts: u32,
    base: Duration,
    cap: Duration,
}

impl RetryPolicy {
    /// Tries once.
    pub fn never() -> Self {
        Self {
            attempts: 1,
            ..Self::default()
        }
    }

    /// Sets how often a call is tried in all; 0 counts as 1.
    #[must_use]
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts.max(1);
        self
    }

    /// Sets the bound of the first wait, and the bound that no wait exceeds.
    #[must_use]
    pub fn backoff(mut self, base: Duration, cap: Duration) -> Self {
        (self.base, self.cap) = (base, cap);
        self
    }

    fn bound(&self, retry: u32) -> Duration {
        self.base
            .saturating_mul(2_u32.saturating_pow(retry))
            .min(self.cap)
    }

    fn jittered(&self, retry: u32) -> Duration {
        self.bound(retry).mul_f64(fastrand::f64())
    }

    /// How long to wait after the error. A server that asks for nothing, or for a moment that is
    /// past, is not asked again at once, and again.
    fn wait(&self, retry: u32, error: &Error) -> Duration {
        let asked = error.retry_after().unwrap_or_default();
        asked.max(self.jittered(retry))
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

/// Whether a call may be sent again when nobody knows if it was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// Yes: it changes nothing, or the server recognises it.
    Freely,
    /// Only when it certainly was not.
    IfNotDone,
}

/// That long from now; a limit that no clock can reach ends in a year.
pub(crate) fn far(limit: Duration) -> Instant {
    const YEAR: Duration = Duration::from_secs(365 * 86_400);
    Instant::now() + limit.min(YEAR)
}

/// Calls until it works, the error is final, the attempts are used up or the limit has passed.
pub(crate) async fn with_retries<T, F>(
    policy: RetryPolicy,
    limit: Duration,
    repeat: Repeat,
    mut call: impl FnMut() -> F,
) -> Result<T>
where
    F: Future<Output = Result<T>>,
{
    let deadline = far(limit);
    let mut retry = 0;
    loop {
        let Ok(outcome) = timeout_at(deadline, call()).await else {
            return Err(Error::Timeout {
                what: "the call to Reflect".to_owned(),
                after: limit,
            });
        };
        let error = match outcome {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        let may_repeat = match repeat {
            Repeat::Freely => error.is_retryable(),
            Repeat::IfNotDone => error.nothing_was_done(),
        };
        let wait = policy.wait(retry, &error);
        retry += 1;
        // Waiting past the deadline could only turn this error into a less telling one.
        if !may_repeat
            || retry >= policy.attempts
            || wait >= deadline.saturating_duration_since(Instant::now())
        {
            return Err(error);
        }
        tracing::debug!(target: "reflect", %error, retry, ?wait, "retrying");
        sleep(wait).await;
    }
}

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
    use std::cell::RefCell;

    use proptest::prelude::*;
    use reflect_types::{ErrorBody, ErrorCode};

    use super::*;
    use crate::error::ApiError;

    const LIMIT: Duration = Duration::from_secs(120);

    fn refused(code: ErrorCode, retry_after: Option<u64>) -> Error {
        let Error::Api(api) = Error::from(ErrorBody::new(code, "no")) else {
            unreachable!()
        };
        let retry_after = retry_after.map(Duration::from_secs);
        Error::Api(Box::new(ApiError {
            retry_after,
            ..*api
        }))
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
    async fn a_passing_fault_is_tried_again_within_the_jitter_bounds() {
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
    async fn a_retry_after_beyond_the_deadline_is_told_at_once() {
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
    async fn a_final_error_is_not_tried_again() {
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
    async fn attempts_are_counted_in_all() {
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
    async fn what_must_not_happen_twice_is_repeated_only_if_it_was_not_done() {
        let policy = RetryPolicy::default();
        let (result, calls, _) = play(policy, LIMIT, Repeat::IfNotDone, vec![lost(true)]).await;
        assert!(result.is_err());
        assert_eq!(calls, 1);
        let safe = vec![lost(false), refused(ErrorCode::Unavailable, None)];
        let (result, calls, _) = play(policy, LIMIT, Repeat::IfNotDone, safe).await;
        assert_eq!((result.unwrap(), calls), (7, 3));
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_hangs_ends_at_the_deadline() {
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
    async fn a_server_that_asks_for_no_wait_is_not_asked_without_one() {
        let at_once = |_| Some(refused(ErrorCode::Unavailable, Some(0)));
        let (result, calls, took) = play_in_background(patient(), at_once).await;
        assert_eq!(result.unwrap_err().status(), Some(503));
        // Waits of 10 s on average, once they are as long as they get.
        assert!(calls < 100, "{calls} calls");
        assert!(
            took >= LIMIT && took < LIMIT + Duration::from_secs(1),
            "{took:?}"
        );
        let faults = (0..3)
            .map(|_| refused(ErrorCode::Unavailable, Some(0)))
            .collect();
        let (result, calls, took) = play(patient(), LIMIT, Repeat::Freely, faults).await;
        assert_eq!((result.unwrap(), calls), (7, 4));
        assert!(took > Duration::ZERO);
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

    proptest! {
        #[test]
        fn every_wait_lies_within_its_bound(retry in 0_u32..2_000, base in 0_u64..10_000) {
            let policy = RetryPolicy::default()
                .backoff(Duration::from_millis(base), Duration::from_secs(20));
            prop_assert!(policy.jittered(retry) <= policy.bound(retry));
            prop_assert!(policy.bound(retry) <= Duration::from_secs(20));
        }
    }
}
