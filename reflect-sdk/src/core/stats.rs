use std::sync::atomic::{AtomicU64, Ordering};

/// The runs of this process since the client was built, by outcome; see
/// [`ReflectClient::stats`](crate::ReflectClient::stats) and
/// [`ReflectClient::flush`](crate::ReflectClient::flush).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeliveryStats {
    /// Runs that Reflect has acknowledged.
    pub sent: u64,
    /// Runs that were given up: permanently refused, or not deliverable within the time limit.
    pub failed: u64,
    /// Runs for which the queue had no room.
    pub dropped: u64,
    /// Runs that are on disk and not acknowledged yet.
    pub spooled: u64,
    /// Runs that are neither acknowledged nor on disk yet.
    pub pending: u64,
    /// Runs that ended without output, so that nothing was sent.
    pub abandoned: u64,
    /// Runs that were discarded.
    pub discarded: u64,
    /// Runs that [`sample`](crate::ClientBuilder::sample) or [`before_send`](crate::ClientBuilder::before_send) has
    /// kept back.
    pub withheld: u64,
    /// Runs that started without their memories because retrieval failed or took too long.
    pub retrievals_failed: u64,
    /// Stored runs whose memory timed out or could not be made.
    pub without_memory: u64,
    /// The last problem, as a warning says it.
    pub last_problem: Option<String>,
}

impl DeliveryStats {
    /// Whether every run of this process so far has arrived.
    pub fn all_sent(&self) -> bool {
        self.failed + self.spooled + self.dropped + self.pending == 0
    }
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) sent: Counter,
    pub(crate) failed: Counter,
    pub(crate) dropped: Counter,
    pub(crate) abandoned: Counter,
    pub(crate) discarded: Counter,
    pub(crate) withheld: Counter,
    pub(crate) retrievals_failed: Counter,
    pub(crate) without_memory: Counter,
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
