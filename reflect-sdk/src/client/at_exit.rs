//! Waiting for what is pending when the process ends.
//!
//! Neither the end of `main` nor `process::exit` drops a client in a `static`, so nothing but the
//! C library can tell that the time has come.

use std::sync::{Arc, Mutex, Once, PoisonError, Weak};
use std::time::{Duration, Instant};

use super::Core;

/// How long the process waits in all.
const LIMIT: Duration = Duration::from_secs(2);

static CLIENTS: Mutex<Vec<Weak<Core>>> = Mutex::new(Vec::new());
static REGISTERED: Once = Once::new();

/// Remembers the client for the end of the process.
pub(super) fn register(core: &Arc<Core>) {
    let mut clients = CLIENTS.lock().unwrap_or_else(PoisonError::into_inner);
    clients.retain(|client| client.strong_count() > 0);
    clients.push(Arc::downgrade(core));
    drop(clients);
    REGISTERED.call_once(|| {
        #[expect(
            unsafe_code,
            reason = "there is no safe way to be called when the process exits"
        )]
        // SAFETY: `flush` is a plain function that lives for ever, takes no locks that are held
        // while code of others runs, and does not panic.
        let refused = unsafe { libc::atexit(flush) } != 0;
        if refused {
            tracing::warn!(target: "reflect", "pending runs will not be waited for at exit");
        }
    });
}

extern "C" fn flush() {
    let deadline = Instant::now() + LIMIT;
    let clients = std::mem::take(&mut *CLIENTS.lock().unwrap_or_else(PoisonError::into_inner));
    for client in clients.iter().filter_map(Weak::upgrade) {
        client.wait_for_pending(deadline.saturating_duration_since(Instant::now()));
        // Ending the worker while the process is being torn down helps nobody.
        std::mem::forget(client);
    }
}
