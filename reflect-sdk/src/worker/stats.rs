//! What became of the runs of a client.

use std::sync::atomic::{AtomicU64, Ordering};

use super::per_process::PerProcess;
use super::spool::Spool;
use crate::client::Core;

/// What became of all runs of this process since the client was made; see
/// [`ReflectClient::stats`](crate::ReflectClient::stats).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Runs that Reflect has acknowledged.
    pub sent: u64,
    /// Runs that were given up: refused for good, or not deliverable within the time set.
    pub failed: u64,
    /// Runs for which there was no room.
    pub dropped: u64,
    /// Runs that are kept on disk and not acknowledged yet.
    pub spooled: u64,
    /// Runs that are on their way and on no disk.
    pub pending: u64,
    /// Runs that ended without saying anything, so that nothing was sent.
    pub abandoned: u64,
    /// Runs that were discarded.
    pub discarded: u64,
    /// Runs that started without their memories, because those did not come (in time).
    pub retrievals_failed: u64,
    /// Runs that are stored, but of which somebody waited for the memory in vain.
    pub not_learned: u64,
    /// The last thing that went wrong, for a person.
    pub last_problem: Option<String>,
}

/// What a flush found; see [`ReflectClient::flush`](crate::ReflectClient::flush).
///
/// Like [`Stats`], it counts all runs of this process since the client was made, whoever has asked
/// before: what was lost stays lost in every later report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FlushReport {
    /// Runs that Reflect has acknowledged.
    pub sent: u64,
    /// Runs that were given up: refused for good, or not deliverable within the time set.
    pub failed: u64,
    /// Runs that are kept on disk and not acknowledged yet.
    pub spooled: u64,
    /// Runs for which there was no room.
    pub dropped: u64,
    /// Runs that were still on their way, and on no disk, when the time was up.
    pub pending: u64,
}

impl FlushReport {
    /// Whether every run of this process so far has arrived.
    pub fn all_sent(&self) -> bool {
        self.failed + self.spooled + self.dropped + self.pending == 0
    }
}

/// What the runs of this process came to.
pub(crate) type Counters = PerProcess<Counts>;

#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) sent: Counter,
    pub(crate) failed: Counter,
    pub(crate) dropped: Counter,
    pub(crate) abandoned: Counter,
    pub(crate) discarded: Counter,
    pub(crate) retrievals_failed: Counter,
    pub(crate) not_learned: Counter,
}

#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add_one(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Core {
    pub(crate) fn stats(&self) -> Stats {
        let counters = &self.counters;
        Stats {
            sent: counters.sent.get(),
            failed: counters.failed.get(),
            dropped: counters.dropped.get(),
            spooled: self.spooled(),
            pending: self.pending(),
            abandoned: counters.abandoned.get(),
            discarded: counters.discarded.get(),
            retrievals_failed: counters.retrievals_failed.get(),
            not_learned: counters.not_learned.get(),
            last_problem: self.notices.last_problem(),
        }
    }

    pub(crate) fn flush_report(&self) -> FlushReport {
        let counters = &self.counters;
        FlushReport {
            sent: counters.sent.get(),
            failed: counters.failed.get(),
            spooled: self.spooled(),
            dropped: counters.dropped.get(),
            pending: self.pending(),
        }
    }

    fn spooled(&self) -> u64 {
        self.spool.as_ref().map_or(0, Spool::waiting)
    }

    fn pending(&self) -> u64 {
        self.outbox_in_use().map_or(0, |outbox| outbox.on_no_disk())
    }
}
