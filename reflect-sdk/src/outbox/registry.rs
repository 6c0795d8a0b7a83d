//! The outboxes that are flushed before the process ends.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::Outbox;
use super::queue::Queue;
use crate::core::{Core, Settings};

static OUTBOXES: Mutex<Vec<WeakOutbox>> = Mutex::new(Vec::new());

struct WeakOutbox {
    core: Weak<Core>,
    queue: Weak<Queue>,
}

impl WeakOutbox {
    fn upgrade(&self) -> Option<Outbox> {
        Some(Outbox {
            core: self.core.upgrade()?,
            queue: self.queue.upgrade()?,
        })
    }
}

/// Remembers the outbox of a client, unless it is disabled.
pub(crate) fn register(outbox: &Outbox) {
    if !outbox.core.is_enabled() {
        return;
    }
    let mut outboxes = OUTBOXES.lock().unwrap_or_else(PoisonError::into_inner);
    outboxes.retain(|outbox| outbox.core.strong_count() > 0);
    outboxes.push(WeakOutbox {
        core: Arc::downgrade(&outbox.core),
        queue: Arc::downgrade(&outbox.queue),
    });
}

/// The outboxes of the clients with these settings. They may be the last owners.
pub(crate) fn of(which: impl Fn(&Settings) -> bool) -> Vec<Outbox> {
    let outboxes = OUTBOXES.lock().unwrap_or_else(PoisonError::into_inner);
    let in_use = outboxes.iter().filter_map(WeakOutbox::upgrade);
    in_use
        .filter(|outbox| which(&outbox.core.settings))
        .collect()
}
