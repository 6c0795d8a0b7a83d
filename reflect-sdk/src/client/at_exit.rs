//! Waiting for what is pending when the process ends.
//!
//! Neither the end of `main` nor `process::exit` drops a client in a `static`, so nothing but the
//! C library can tell that the time has come.

use std::sync::Once;
use std::time::Duration;

use super::registry;

static REGISTERED: Once = Once::new();

/// Sees to it that clients are waited for at the end of the process.
pub(super) fn register() {
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
    let clients = registry::clients();
    registry::flush(&clients, Duration::from_secs(2));
    // Should these be the last owners, ending the worker now would help nobody.
    std::mem::forget(clients);
}
