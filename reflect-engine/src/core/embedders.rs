//! What an engine knows about the embedders of its store.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::learn::Role;

/// How far an engine has come with vectors of its embedder, and which engine decides about memories.
#[derive(Debug, Default)]
pub(crate) struct Embedders {
    is_complete: AtomicBool,
    lacking: AtomicU64,
    /// `None` until the embedders of the store are read.
    role: Mutex<Option<Role>>,
}

impl Embedders {
    /// Notes that all memories have had a vector.
    pub(crate) fn complete(&self) {
        self.is_complete.store(true, Ordering::Relaxed);
    }

    /// Sets the number of memories without a vector.
    pub(crate) fn set_lacking(&self, memories: u64) {
        self.lacking.store(memories, Ordering::Relaxed);
    }

    /// Subtracts memories that got a vector.
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

    pub(crate) fn role(&self) -> Option<Role> {
        *self.role.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_role(&self, role: Role) {
        *self.role.lock().unwrap_or_else(PoisonError::into_inner) = Some(role);
    }
}
