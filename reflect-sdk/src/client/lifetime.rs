use std::fmt;
use std::future::Future;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use super::{Async, Blocking, ReflectClient};
use crate::core::{DeliveryStats, on_runtime};

/// The [installed](ReflectClient::install) client.
static GLOBAL: RwLock<Option<ReflectClient>> = RwLock::new(None);

impl ReflectClient<Async> {
    /// Waits until all runs that ended before this call are sent, for at most `limit`, and returns the
    /// outcome of all runs so far.
    pub fn flush(&self, limit: Duration) -> impl Future<Output = DeliveryStats> + Send + 'static {
        let outbox = self.handle().outbox().clone();
        let pending = outbox.mark();
        async move {
            if let Some(mark) = pending {
                outbox.wait(mark, limit).await;
            }
            outbox.stats()
        }
    }

    /// Installs this client for the whole process: traced functions without a client of their own
    /// use it, and [`global`](Self::global) returns it.
    ///
    /// The guard waits for pending runs when it is dropped, as the end of the process does; it does
    /// not uninstall the client.
    ///
    /// ```no_run
    /// use reflect_sdk::ReflectClient;
    ///
    /// fn main() -> reflect_sdk::Result<()> {
    ///     let _flush = ReflectClient::from_env()?.install();
    ///     assert!(ReflectClient::global().is_some());
    ///     Ok(())
    /// }
    /// ```
    pub fn install(&self) -> FlushGuard {
        let mut global = GLOBAL.write().unwrap_or_else(PoisonError::into_inner);
        let replaced = global.replace(self.clone());
        drop(global);
        // Outside of the lock: the last handle of a client may wait.
        drop(replaced);
        FlushGuard(self.clone())
    }

    /// The [installed](Self::install) client.
    pub fn global() -> Option<ReflectClient> {
        GLOBAL
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl ReflectClient<Blocking> {
    /// Waits until all runs that ended before this call are sent, for at most `limit`, and returns the
    /// outcome of all runs so far.
    pub fn flush(&self, limit: Duration) -> DeliveryStats {
        let outbox = self.handle().outbox();
        outbox.wait_blocking(limit);
        outbox.stats()
    }
}

impl<M> ReflectClient<M> {
    /// The outcome of all runs so far.
    pub fn stats(&self) -> DeliveryStats {
        self.handle().outbox().stats()
    }
}

/// Waits for pending runs when it is dropped; see [`ReflectClient::install`].
#[must_use = "if it is dropped immediately, it waits for nothing: keep it in `main` with `let _flush = …`"]
pub struct FlushGuard(ReflectClient);

impl Drop for FlushGuard {
    fn drop(&mut self) {
        let settings = &self.0.core().settings;
        // A thread of a runtime is not held up where the end of the process waits.
        if !(on_runtime() && settings.waits_at_exit()) {
            let limit = settings.shutdown_timeout;
            self.0.handle().outbox().wait_at_end(limit);
        }
    }
}

impl fmt::Debug for FlushGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FlushGuard").field(&self.0).finish()
    }
}
