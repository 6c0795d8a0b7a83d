use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reflect_types::{CreateTrace, place};

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
    pub(crate) before_send: Option<BeforeSend>,
    /// The share of runs that are recorded.
    pub(crate) sample: f64,
    pub(crate) queue: usize,
    pub(crate) overflow: Overflow,
    pub(crate) shutdown_timeout: Duration,
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
            before_send: None,
            sample: 1.0,
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

impl Settings {
    /// Whether the runs within this outermost one are recorded, and it itself.
    pub(crate) fn samples(&self, outermost: &str) -> bool {
        // Not the place that decides on the arm: a sample has runs of both.
        self.sample >= 1.0 || place(&format!("sample {outermost}")) < self.sample
    }
}

impl Settings {
    /// Whether the end of the process waits for pending runs.
    pub(crate) fn waits_at_exit(&self) -> bool {
        #[cfg(feature = "flush-at-exit")]
        return self.flush_at_exit;
        #[cfg(not(feature = "flush-at-exit"))]
        return false;
    }
}

/// What a finished run goes through before it is sent.
#[derive(Clone)]
pub(crate) struct BeforeSend(pub(crate) Arc<Filter>);

type Filter = dyn Fn(CreateTrace) -> Option<CreateTrace> + Send + Sync;

impl fmt::Debug for BeforeSend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BeforeSend")
    }
}

/// What happens to a finished run when the queue is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Overflow {
    /// It is dropped.
    #[default]
    Drop,
    /// The thread that finished it waits for room for at most this long; then the run is dropped. A thread of a
    /// tokio runtime waits for nothing.
    Block(Duration),
}
