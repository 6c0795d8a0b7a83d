use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use crate::core::Core;
use crate::outbox::Outbox;
#[cfg(feature = "flush-at-exit")]
use crate::outbox::at_exit;
#[cfg(any(feature = "flush-at-exit", feature = "panic-hook"))]
use crate::outbox::registry;

/// The part of a client that its users own. The last handle waits for pending runs; these hold the
/// core alone, so that they do not delay that moment.
#[derive(Debug)]
pub(crate) struct Handle(Outbox);

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
        Self(outbox)
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        self.0.core()
    }

    pub(crate) fn outbox(&self) -> &Outbox {
        &self.0
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.end();
    }
}
