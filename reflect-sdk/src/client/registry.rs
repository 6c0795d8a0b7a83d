//! The clients that must be given a chance to send before the process ends.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use super::Core;

static CLIENTS: Mutex<Vec<Weak<Core>>> = Mutex::new(Vec::new());

/// Remembers a client.
pub(super) fn register(core: &Arc<Core>) {
    let mut clients = CLIENTS.lock().unwrap_or_else(PoisonError::into_inner);
    clients.retain(|client| client.strong_count() > 0);
    clients.push(Arc::downgrade(core));
}

/// The clients that are in use.
pub(crate) fn clients() -> Vec<Arc<Core>> {
    let clients = CLIENTS.lock().unwrap_or_else(PoisonError::into_inner);
    clients.iter().filter_map(Weak::upgrade).collect()
}

/// Waits for what the clients have to send, at most for `limit` in all.
pub(crate) fn flush<'a>(clients: impl IntoIterator<Item = &'a Arc<Core>>, limit: Duration) {
    let deadline = Instant::now() + limit;
    for client in clients {
        client.wait_for_pending(deadline.saturating_duration_since(Instant::now()));
    }
}
