use std::time::Duration;

use super::retry::RetryPolicy;

/// The settings of a client about memories, waiting, retrying and giving up.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// The retries of an explicit call.
    pub(crate) retry: RetryPolicy,
    /// The time limit of an explicit call, with all its attempts.
    pub(crate) deadline: Duration,
    /// The time limit of the retrieval before a run.
    pub(crate) retrieval_timeout: Duration,
    /// The share of runs that are given no memories; that of the project by default.
    pub(crate) control: Option<f64>,
    /// The retries of a finished run.
    pub(crate) submit_retry: RetryPolicy,
    /// The time limit of a finished run, from its first attempt.
    pub(crate) submit_deadline: Duration,
    /// The maximum number of finished runs in memory.
    pub(crate) queue: usize,
    /// What happens to a run beyond that number.
    pub(crate) overflow: Overflow,
    /// The time limit of the last handle, and of the end of the process, for pending runs.
    pub(crate) shutdown_timeout: Duration,
    /// Whether the end of the process waits for pending runs.
    #[cfg(feature = "flush-at-exit")]
    pub(crate) flush_at_exit: bool,
    /// Whether a panic may end the process.
    #[cfg(feature = "panic-hook")]
    pub(crate) flush_on_panic: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            retry: RetryPolicy::default(),
            deadline: Duration::from_secs(120),
            retrieval_timeout: Duration::from_secs(5),
            control: None,
            // No caller waits for these, so an outage of some minutes need not lose them.
            submit_retry: RetryPolicy::default()
                .attempts(u32::MAX)
                .backoff(Duration::from_millis(250), Duration::from_secs(30)),
            submit_deadline: Duration::from_secs(600),
            queue: 1_024,
            overflow: Overflow::default(),
            shutdown_timeout: Duration::from_secs(5),
            #[cfg(feature = "flush-at-exit")]
            flush_at_exit: true,
            #[cfg(feature = "panic-hook")]
            flush_on_panic: cfg!(panic = "abort"),
        }
    }
}

/// What happens to a finished run when the queue is full and there is no spool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Overflow {
    /// The thread that finished it waits for room for at most this long; then the run is dropped.
    Block(Duration),
    /// It is dropped immediately.
    Drop,
}

impl Default for Overflow {
    fn default() -> Self {
        Self::Block(Duration::from_secs(1))
    }
}
