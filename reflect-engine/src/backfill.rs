//! How far an engine has come with vectors of its embedder.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How far an engine has come with vectors of its embedder.
#[derive(Debug, Default)]
pub(crate) struct Backfill {
    is_complete: AtomicBool,
    lacking: AtomicU64,
}

impl Backfill {
    /// All memories have had a vector.
    pub(crate) fn complete(&self) {
        self.is_complete.store(true, Ordering::Relaxed);
    }

    /// So many memories have none.
    pub(crate) fn set_lacking(&self, memories: u64) {
        self.lacking.store(memories, Ordering::Relaxed);
    }

    /// So many of them got one.
    pub(crate) fn embedded(&self, memories: u64) {
        let less = |lacking: u64| Some(lacking.saturating_sub(memories));
        let _ = self
            .lacking
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// Whether all memories have had a vector, and how many have none now.
    pub(crate) fn state(&self) -> (bool, u64) {
        let is_complete = self.is_complete.load(Ordering::Relaxed);
        (is_complete, self.lacking.load(Ordering::Relaxed))
    }
}
