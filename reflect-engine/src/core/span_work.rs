//! What receiving spans and recording their runs share.

use std::sync::{Mutex, MutexGuard, PoisonError};
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
    totals: Mutex<SpanTotals>,
}

impl SpanWork {
    /// How long a trace with its root is waited for: spans of other processes come a little later.
    const SETTLE: Duration = Duration::from_secs(5);

    pub(crate) fn new(quiet: Duration) -> Self {
        Self {
            quiet,
            arrived: Notify::new(),
            totals: Mutex::default(),
        }
    }

    pub(crate) fn settle(&self) -> Duration {
        Self::SETTLE.min(self.quiet)
    }

    pub(crate) fn totals(&self) -> MutexGuard<'_, SpanTotals> {
        self.totals.lock().unwrap_or_else(PoisonError::into_inner)
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

impl SpanTotals {
    pub(crate) fn receive(&mut self, counts: SpanCounts) {
        self.added += counts.added;
        self.repeated += counts.repeated;
        self.late += counts.late;
        self.over_limit += counts.over_limit;
    }

    pub(crate) fn make(&mut self, made: &Runs) {
        self.unused += made.unused as u64;
        self.without_content += made.without_content as u64;
    }
}
