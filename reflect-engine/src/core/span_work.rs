//! What receiving spans and recording their runs share.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use reflect_types::spans::Runs;
use tokio::sync::Notify;

use crate::store::SpanCounts;

/// The work on spans of OpenTelemetry.
pub(crate) struct SpanWork {
    /// How long a trace without its root is waited for after its last span.
    pub(crate) quiet: Duration,
    /// Notified when spans are stored.
    pub(crate) arrived: Notify,
    added: AtomicU64,
    repeated: AtomicU64,
    late: AtomicU64,
    over_limit: AtomicU64,
    unused: AtomicU64,
    without_content: AtomicU64,
    runs: AtomicU64,
}

impl SpanWork {
    /// How long a trace with its root is waited for: spans of other processes come a little later.
    const SETTLE: Duration = Duration::from_secs(5);

    pub(crate) fn new(quiet: Duration) -> Self {
        Self {
            quiet,
            arrived: Notify::new(),
            added: AtomicU64::default(),
            repeated: AtomicU64::default(),
            late: AtomicU64::default(),
            over_limit: AtomicU64::default(),
            unused: AtomicU64::default(),
            without_content: AtomicU64::default(),
            runs: AtomicU64::default(),
        }
    }

    pub(crate) fn settle(&self) -> Duration {
        Self::SETTLE.min(self.quiet)
    }

    pub(crate) fn count_received(&self, counts: SpanCounts) {
        for (total, count) in [
            (&self.added, counts.added),
            (&self.repeated, counts.repeated),
            (&self.late, counts.late),
            (&self.over_limit, counts.over_limit),
        ] {
            total.fetch_add(count, Ordering::Relaxed);
        }
    }

    pub(crate) fn count_made(&self, made: &Runs) {
        for (total, count) in [
            (&self.unused, made.unused),
            (&self.without_content, made.without_content),
        ] {
            total.fetch_add(count as u64, Ordering::Relaxed);
        }
    }

    pub(crate) fn count_run(&self) {
        self.runs.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn totals(&self) -> SpanTotals {
        let read = |total: &AtomicU64| total.load(Ordering::Relaxed);
        SpanTotals {
            added: read(&self.added),
            repeated: read(&self.repeated),
            late: read(&self.late),
            over_limit: read(&self.over_limit),
            unused: read(&self.unused),
            without_content: read(&self.without_content),
            runs: read(&self.runs),
        }
    }
}

/// What became of the spans that this engine has received and processed since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpanTotals {
    /// Spans and events that were stored.
    pub added: u64,
    /// Those that had been stored before.
    pub repeated: u64,
    /// Those whose trace was recorded already.
    pub late: u64,
    /// Those beyond the limits of a trace.
    pub over_limit: u64,
    /// Spans that belong to no run.
    pub unused: u64,
    /// Invocations of an agent whose messages were not recorded.
    pub without_content: u64,
    /// Runs that were recorded.
    pub runs: u64,
}
