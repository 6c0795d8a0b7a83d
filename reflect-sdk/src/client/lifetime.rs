use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use super::{Async, Blocking, Core, ReflectClient};
use crate::worker::stats::{FlushReport, Stats};

/// The client that [`ReflectClient::install`] made everyone's.
static GLOBAL: RwLock<Option<ReflectClient>> = RwLock::new(None);

/// What users hold of a client. When the last one goes, what is pending gets its chance to be sent;
/// jobs on their way hold the core alone, so that they do not put that moment off.
#[derive(Debug)]
pub(crate) struct Handle(Arc<Core>);

/// A call that panics changes nothing that the next one could find half done: what calls share is
/// behind locks that are held for a moment and survive being poisoned, or on the I/O thread, where a
/// panic ends one job. So a client may be used in `catch_unwind`, and after it.
impl UnwindSafe for Handle {}
impl RefUnwindSafe for Handle {}

impl Handle {
    pub(super) fn new(core: Arc<Core>) -> Self {
        #[cfg(any(feature = "flush-at-exit", feature = "panic-hook"))]
        if core.is_enabled() {
            super::registry::register(&core);
        }
        #[cfg(feature = "flush-at-exit")]
        super::at_exit::register();
        Self(core)
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.0
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.wait_for_pending(self.0.settings.shutdown_timeout);
        self.0.close();
    }
}

impl Core {
    pub(crate) fn wait_for_pending(&self, limit: Duration) {
        if let Some(outbox) = self.outbox_in_use() {
            outbox.wait_blocking(self, limit);
        }
    }

    /// Lets the transport go in good order, unless runs are still on their way through it.
    fn close(&self) {
        let Some((worker, transport)) = self.idle_in_use() else {
            return;
        };
        let closing = async move {
            transport.close().await;
            Ok(())
        };
        if let Err(error) = worker.wait(closing, self.settings.shutdown_timeout) {
            tracing::debug!(target: "reflect", %error, "the transport was not closed");
        }
    }
}

impl ReflectClient<Async> {
    /// Waits until all runs that ended before this call are sent, at most for `limit`, and tells
    /// what became of all runs so far.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # async fn run(client: reflect_sdk::ReflectClient) {
    /// let report = client.flush(Duration::from_secs(5)).await;
    /// println!("{} sent, {} failed", report.sent, report.failed);
    /// # }
    /// ```
    pub fn flush(&self, limit: Duration) -> impl Future<Output = FlushReport> + Send + 'static {
        let core = Arc::clone(self.core());
        let pending = core.outbox_in_use().map(|outbox| outbox.mark());
        async move {
            if let Some(mark) = pending {
                core.outbox().wait(&core, mark, limit).await;
            }
            core.flush_report()
        }
    }

    /// Makes this client the process's own, for [`ReflectClient::global`].
    ///
    /// A client in a `static` is never dropped, so what it has not sent at the end of `main` would
    /// be lost. Keep the guard in `main`: it waits for that. Dropping it does not disable the
    /// client.
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
        #[cfg(feature = "macros")]
        super::as_client::note_that_there_is_one();
        let mut global = GLOBAL.write().unwrap_or_else(PoisonError::into_inner);
        let replaced = global.replace(self.clone());
        drop(global);
        // Outside of the lock: the last handle of a client may wait.
        drop(replaced);
        FlushGuard(self.clone())
    }

    /// The client that was [installed](Self::install), if one was.
    pub fn global() -> Option<ReflectClient> {
        GLOBAL
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl ReflectClient<Blocking> {
    /// Waits until all runs that ended before this call are sent, at most for `limit`, and tells
    /// what became of all runs so far.
    pub fn flush(&self, limit: Duration) -> FlushReport {
        let core = self.core();
        core.wait_for_pending(limit);
        core.flush_report()
    }
}

impl<M> ReflectClient<M> {
    /// What became of all runs so far.
    pub fn stats(&self) -> Stats {
        self.core().stats()
    }
}

/// Waits for what is pending when it is dropped; see [`ReflectClient::install`].
#[must_use = "dropped at once it has nothing to wait for: keep it in `main` with `let _flush = …`"]
pub struct FlushGuard(ReflectClient);

impl Drop for FlushGuard {
    fn drop(&mut self) {
        let core = self.0.core();
        core.wait_for_pending(core.settings.shutdown_timeout);
    }
}

impl fmt::Debug for FlushGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FlushGuard").field(&self.0).finish()
    }
}
