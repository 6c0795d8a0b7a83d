use std::time::Duration;

use super::retry::RetryPolicy;

/// The settings of a client, which its [builder](crate::ClientBuilder) explains.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) retry: RetryPolicy,
    pub(crate) deadline: Duration,
    pub(crate) retrieval_timeout: Duration,
    pub(crate) control_share: Option<f64>,
    pub(crate) submit_retry: RetryPolicy,
    pub(crate) submit_deadline: Duration,
    pub(crate) queue: usize,
    pub(crate) overflow: Overflow,
    pub(crate) shutdown_timeout: Duration,
    pub(crate) content_in_spans: bool,
    #[cfg(feature = "flush-at-exit")]
    pub(crate) flush_at_exit: bool,
    #[cfg(feature = "panic-hook")]
    pub(crate) flush_on_panic: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            retry: RetryPolicy::default(),
            deadline: Duration::from_secs(120),
            retrieval_timeout: Duration::from_secs(5),
            control_share: None,
            // No caller waits for these, so an outage of some minutes need not lose them.
            submit_retry: RetryPolicy::default()
                .attempts(u32::MAX)
                .backoff(Duration::from_millis(250), Duration::from_secs(30)),
            submit_deadline: Duration::from_secs(600),
            queue: 1_024,
            overflow: Overflow::default(),
            shutdown_timeout: Duration::from_secs(5),
            content_in_spans: false,
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
