//! The outboxes that are flushed before the process ends.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

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

/// Waits for the pending runs of the clients with these settings, each for at most its limit from now.
/// Returns their outboxes, which may be the last owners.
pub(crate) fn flush(
    which: impl Fn(&Settings) -> bool,
    limit: impl Fn(&Settings) -> Duration,
) -> Vec<Outbox> {
    let start = Instant::now();
    let mut outboxes = in_use();
    outboxes.retain(|outbox| which(&outbox.core.settings));
    for outbox in &outboxes {
        let limit = limit(&outbox.core.settings);
        outbox.wait_blocking(limit.saturating_sub(start.elapsed()));
    }
    outboxes
}

fn in_use() -> Vec<Outbox> {
    let outboxes = OUTBOXES.lock().unwrap_or_else(PoisonError::into_inner);
    outboxes.iter().filter_map(WeakOutbox::upgrade).collect()
}
