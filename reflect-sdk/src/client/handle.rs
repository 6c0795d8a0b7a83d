use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use crate::core::Core;
#[cfg(feature = "flush-at-exit")]
use crate::outbox::at_exit;
#[cfg(any(feature = "flush-at-exit", feature = "panic-hook"))]
use crate::outbox::registry;
use crate::outbox::{Delivery, Outbox, Runs};

/// The part of a client that its users own. The last handle waits for pending runs; these hold the
/// core alone, so that they do not delay that moment.
#[derive(Debug)]
pub(crate) struct Handle {
    outbox: Outbox,
    runs: Runs,
}

/// A call that panics leaves nothing half done: shared state is behind locks that are held for a
/// moment and survive being poisoned, or on the I/O thread, where a panic ends one call. So a client
/// may be used in `catch_unwind`, and after it.
impl UnwindSafe for Handle {}
impl RefUnwindSafe for Handle {}

impl Handle {
    pub(super) fn new(core: Core) -> Self {
        let outbox = Outbox::new(Arc::new(core));
        #[cfg(any(feature = "flush-at-exit", feature = "panic-hook"))]
        registry::register(&outbox);
        #[cfg(feature = "flush-at-exit")]
        at_exit::register(&outbox);
        let runs = Runs::default();
        Self { outbox, runs }
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        self.outbox.core()
    }

    pub(crate) fn outbox(&self) -> &Outbox {
        &self.outbox
    }

    /// The delivery of a run that starts.
    pub(crate) fn follow(&self, run_id: &str) -> Arc<Delivery> {
        self.runs.add(run_id, self.core())
    }

    /// The delivery of a run that is open or on its way.
    pub(super) fn delivery_of(&self, run_id: &str) -> Option<Arc<Delivery>> {
        self.runs.find(run_id)
    }

    /// Sends what an earlier client had to leave on disk.
    pub(super) fn send_left_overs(&self) {
        self.outbox.send_left_overs(&self.runs);
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let limit = self.core().settings.shutdown_timeout;
        self.outbox.wait_blocking(limit);
        // Runs may still be on their way through the transport.
        if self.outbox.is_idle() {
            self.outbox.close(limit);
        }
    }
}
