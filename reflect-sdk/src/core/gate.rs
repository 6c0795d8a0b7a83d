//! Whether Reflect is asked, after calls have failed.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::RetryPolicy;
use crate::error::{Error, Result};

/// A pause that is longer each time.
#[derive(Debug, Default)]
pub(crate) struct Pause {
    count: u32,
    until: Option<Instant>,
}

impl Pause {
    pub(crate) fn begin(&mut self, now: Instant, policy: RetryPolicy) {
        self.count = self.count.saturating_add(1);
        self.until = Some(now + policy.wait(self.count));
    }

    /// Makes it longer, if it has begun.
    pub(crate) fn extend(&mut self, until: Instant) {
        self.until = self.until.map(|end| end.max(until));
    }

    /// Its end, until it is ended.
    pub(crate) fn until(&self) -> Option<Instant> {
        self.until
    }

    pub(crate) fn end(&mut self) {
        self.until = None;
    }

    /// Begins with short ones again.
    pub(crate) fn forget(&mut self) {
        self.count = 0;
    }
}

/// Keeps queries from a server that does not answer them, so that it slows down no agent.
///
/// After a failure no query is made for a pause. Then one is, to find out whether the server answers again, while
/// the others go on without.
#[derive(Debug)]
pub(crate) struct Gate {
    policy: RetryPolicy,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    pause: Pause,
    /// The last failure.
    failure: Option<Error>,
}

impl Gate {
    pub(super) fn new(policy: RetryPolicy) -> Self {
        Self {
            policy,
            state: Mutex::default(),
        }
    }

    /// Makes a query, unless the server does not answer now. The query that finds out is waited for only briefly,
    /// and goes on in the background.
    pub(crate) async fn pass<T, F>(self: Arc<Self>, query: F) -> Result<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        /// How long the query is waited for that finds out.
        const PATIENCE: Duration = Duration::from_millis(250);

        let finds_out = self.admit(Instant::now())?;
        let gate = Arc::clone(&self);
        let query = async move {
            let made = query.await;
            gate.note(&made);
            made
        };
        if !finds_out {
            return query.await;
        }
        match timeout(PATIENCE, tokio::spawn(query)).await {
            Ok(Ok(made)) => made,
            Ok(Err(panic)) => Err(Error::Worker(panic.to_string())),
            Err(_) => Err(self.lock().skipped()),
        }
    }

    /// Whether a query that may be made is the one that finds out.
    fn admit(&self, now: Instant) -> Result<bool> {
        let mut state = self.lock();
        match state.pause.until() {
            None => Ok(false),
            Some(until) if now < until => Err(state.skipped()),
            Some(_) => {
                state.pause.begin(now, self.policy);
                Ok(true)
            }
        }
    }

    fn note<T>(&self, made: &Result<T>) {
        match made {
            Ok(_) => self.lock().open(),
            Err(error) if error.is_retryable() => self.shut(error),
            Err(_) => {}
        }
    }

    /// Begins a pause. Failures of calls that were under way together begin one.
    pub(crate) fn shut(&self, error: &Error) {
        let (mut state, now) = (self.lock(), Instant::now());
        if state.pause.until().is_none() {
            state.pause.begin(now, self.policy);
        }
        let asked = error.retry_after().unwrap_or_default();
        state.pause.extend(now + asked);
        state.failure = Some(error.clone());
    }

    /// Ends the pause if the server has not answered at all: now it does answer another call.
    pub(crate) fn heard(&self) {
        let mut state = self.lock();
        if state.failure.as_ref().is_some_and(Error::is_unanswered) {
            state.open();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn open(&mut self) {
        *self = Self::default();
    }

    fn skipped(&self) -> Error {
        let cause = self.failure.clone();
        // There is one whenever there is a pause.
        Error::Skipped(Box::new(cause.unwrap_or(Error::Disabled)))
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};
    use std::sync::atomic::{AtomicUsize, Ordering};

    use reflect_types::ErrorCode;

    use super::*;
    use crate::error::ApiError;

    fn gate() -> Arc<Gate> {
        let (base, cap) = (Duration::from_millis(250), Duration::from_secs(30));
        Arc::new(Gate::new(RetryPolicy::default().backoff(base, cap)))
    }

    fn lost() -> Error {
        Error::timeout("the call", Duration::ZERO)
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_does_not_answer_is_asked_less_and_less_and_slows_down_few() {
        let (gate, asked) = (gate(), Arc::new(AtomicUsize::new(0)));
        let (start, mut slowed) = (Instant::now(), 0);
        while start.elapsed() < Duration::from_secs(600) {
            let asked = Arc::clone(&asked);
            let began = Instant::now();
            let failed = Arc::clone(&gate).pass(async move {
                asked.fetch_add(1, Ordering::Relaxed);
                timeout(Duration::from_secs(5), pending::<Result<()>>())
                    .await
                    .unwrap_or_else(|_| Err(lost()))
            });
            assert!(failed.await.is_err());
            slowed += u32::from(began.elapsed() > Duration::ZERO);
            tokio::time::advance(Duration::from_millis(100)).await;
        }
        let asked = asked.load(Ordering::Relaxed);
        // Pauses of 15 s on average, once they are as long as they get.
        assert!(asked < 100 && slowed < 100, "{asked}, {slowed}");
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_answer_opens_the_gate_for_all() {
        let gate = gate();
        assert!(
            Arc::clone(&gate)
                .pass(ready(Err::<(), _>(lost())))
                .await
                .is_err()
        );
        let until = gate.lock().pause.until().unwrap();
        let skipped = Arc::clone(&gate).pass(ready(Ok(7))).await;
        assert!(until == Instant::now() || matches!(skipped, Err(Error::Skipped(_))));
        tokio::time::advance(Duration::from_millis(250)).await;
        assert_eq!(Arc::clone(&gate).pass(ready(Ok(7))).await.unwrap(), 7);
        assert_eq!(gate.lock().pause.until(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn failures_of_queries_that_were_under_way_together_begin_one_short_pause() {
        let gate = gate();
        for _ in 0..100 {
            gate.shut(&lost());
        }
        let until = gate.lock().pause.until().unwrap();
        assert!(until <= Instant::now() + Duration::from_millis(250));
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_that_arrives_ends_a_silence_but_proves_nothing_about_queries_that_are_refused() {
        let gate = gate();
        gate.shut(&lost());
        gate.heard();
        assert!(Arc::clone(&gate).pass(ready(Ok(()))).await.is_ok());
        let asked = Some(Duration::from_secs(60));
        gate.shut(&ApiError::refusal(ErrorCode::Unavailable, asked));
        gate.heard();
        let skipped = Arc::clone(&gate).pass(ready(Ok(()))).await.unwrap_err();
        assert_eq!(skipped.status(), Some(503), "{skipped}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_mistake_in_a_query_shuts_out_no_other() {
        let gate = gate();
        let mistake = ApiError::refusal(ErrorCode::InvalidField, None);
        assert!(
            Arc::clone(&gate)
                .pass(ready(Err::<(), _>(mistake)))
                .await
                .is_err()
        );
        assert!(Arc::clone(&gate).pass(ready(Ok(()))).await.is_ok());
    }
}
