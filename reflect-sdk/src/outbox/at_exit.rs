//! Flushing, and closing transports, when the process ends.
//!
//! Neither the end of `main` nor `process::exit` drops a client in a `static`, one that is leaked or
//! one on another thread. Only the C library calls back in all these cases.

use std::sync::Once;
use std::time::{Duration, Instant};

use super::{Outbox, registry};

/// Makes the end of the process wait for pending runs, unless the client has switched that off.
pub(crate) fn register(outbox: &Outbox) {
    static REGISTERED: Once = Once::new();

    if !outbox.core.is_enabled() || !outbox.core.settings.flush_at_exit {
        return;
    }
    REGISTERED.call_once(|| {
        #[expect(
            unsafe_code,
            reason = "there is no safe way to be called when the process exits"
        )]
        // SAFETY: `flush` is a plain function that lives for ever, takes no locks that are held
        // while code of others runs, and does not panic.
        let refused = unsafe { libc::atexit(flush) } != 0;
        if refused {
            tracing::warn!(target: "reflect", "the process will not wait for pending runs at exit");
        }
    });
}

extern "C" fn flush() {
    /// For the transport of a client whose runs took all its time.
    const LEAST: Duration = Duration::from_millis(500);

    let start = Instant::now();
    let outboxes = registry::of(|settings| settings.flush_at_exit);
    let left = |outbox: &Outbox| {
        let limit = outbox.core.settings.shutdown_timeout;
        limit.saturating_sub(start.elapsed())
    };
    for outbox in &outboxes {
        outbox.wait_at_end(left(outbox));
    }
    for outbox in &outboxes {
        outbox.say_what_is_lost();
        // The jobs of an embedded engine would stay leased.
        outbox.close(left(outbox).max(LEAST));
    }
    // Dropping the last owner would end the I/O thread, which is pointless now.
    std::mem::forget(outboxes);
}
