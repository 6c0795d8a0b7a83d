//! The parts that every handle, call and pending run of a client shares.

mod block_on;
mod control;
mod gate;
mod listing;
mod notice;
mod retry;
mod settings;
mod stats;
mod wait;
mod worker;

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use std::{mem, process};

use reflect_types::{Operation, ProjectId, Repeat, Reply, Request};
use tokio::time::Instant;

pub(crate) use self::block_on::block_on;
use self::control::ProjectControl;
pub(crate) use self::gate::{Gate, Pause};
#[cfg(feature = "flush-at-exit")]
pub(crate) use self::notice::print;
#[cfg(feature = "macros")]
pub(crate) use self::notice::warn_once;
pub(crate) use self::notice::{Cause, Notices};
pub use self::retry::RetryPolicy;
pub(crate) use self::retry::far;
use self::retry::with_retries;
pub use self::settings::Overflow;
pub(crate) use self::settings::{BeforeSend, Settings};
pub(crate) use self::stats::Counters;
pub use self::stats::DeliveryStats;
pub(crate) use self::wait::{Polling, wait_for};
pub(crate) use self::worker::{Worker, on_runtime};
use crate::error::{Error, Result};
use crate::spool::Spool;
use crate::transport::Transport;

/// The shared state of a client.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) project: ProjectId,
    pub(crate) settings: Settings,
    pub(crate) counters: Counters,
    pub(crate) notices: Notices,
    /// What retrieval goes through.
    pub(crate) gate: Arc<Gate>,
    pub(crate) spool: Option<Spool>,
    /// `None` for a disabled client.
    transport: Option<Arc<dyn Transport>>,
    worker: Worker,
    project_control: ProjectControl,
    /// How many runs an end has waited for, of the client or of the process.
    pub(crate) waited_for: AtomicU64,
    /// Whether the transport is closed.
    is_closed: AtomicBool,
    /// The process that the thread and the connections belong to.
    process: u32,
}

impl Core {
    /// The core of a client whose transport was opened on this worker, or on none.
    pub(crate) fn new(
        project: ProjectId,
        settings: Settings,
        transport: Option<Arc<dyn Transport>>,
        worker: Worker,
        spool: Option<Spool>,
    ) -> Self {
        Self {
            project,
            gate: Arc::new(Gate::new(settings.submit_retry)),
            settings,
            counters: Counters::default(),
            notices: Notices::default(),
            spool,
            transport,
            worker,
            project_control: ProjectControl::default(),
            waited_for: AtomicU64::new(0),
            is_closed: AtomicBool::new(false),
            process: process::id(),
        }
    }

    /// The core of a disabled client.
    pub(crate) fn disabled() -> Self {
        let (project, settings) = (ProjectId::default(), Settings::default());
        Self::new(project, settings, None, Worker::default(), None)
    }

    pub(crate) fn is_enabled(&self) -> bool {
        self.transport.is_some()
    }

    /// Whether the client belongs to the process that forked this one. A fork copies its memory, not its
    /// thread, and shares its connections: all that is left is to say so.
    pub(crate) fn is_forked(&self) -> bool {
        self.process != process::id()
    }

    /// The transport, if the client can be used.
    pub(crate) fn transport(&self) -> Result<&Arc<dyn Transport>> {
        match &self.transport {
            None => Err(Error::Disabled),
            Some(_) if self.is_forked() => Err(Error::Forked),
            Some(transport) => Ok(transport),
        }
    }

    /// Closes the transport once, if it was used.
    pub(crate) async fn close(&self, limit: Duration) {
        if let Ok(transport) = self.transport() {
            if self.worker.is_running() && !self.is_closed.swap(true, Ordering::Relaxed) {
                transport.close_within(limit).await;
            }
        }
    }

    pub(crate) fn worker(&self) -> &Worker {
        &self.worker
    }

    /// Carries out an operation, with retries, within the client's deadline.
    pub(crate) async fn call<O: Operation>(&self, operation: O) -> Result<O::Reply> {
        let reply = self.reply(operation.into()).await?;
        Self::expect::<O>(reply)
    }

    /// The operation's own reply; a transport of a user may confuse two.
    pub(crate) fn expect<O: Operation>(reply: Reply) -> Result<O::Reply> {
        O::from_reply(reply).ok_or_else(|| Error::Transport {
            message: format!(
                "the transport returned the reply of another operation to `{}`",
                O::NAME
            ),
            maybe_done: true,
            source: None,
        })
    }

    /// The reply to a request; that to a list is as long as it was asked for, however long the pages
    /// are.
    async fn reply(&self, request: Request) -> Result<Reply> {
        let deadline = far(self.settings.deadline);
        let mut reply = self.page(&request, deadline).await?;
        while let Some(rest) = listing::continuation(&request, &reply) {
            listing::append(&mut reply, self.page(&rest, deadline).await?);
        }
        Ok(reply)
    }

    async fn page(&self, request: &Request, deadline: Instant) -> Result<Reply> {
        let transport = self.transport()?;
        let call = || transport.call(&self.project, request);
        let limit = deadline.saturating_duration_since(Instant::now());
        with_retries(self.settings.retry, limit, request.repeat(), call).await
    }

    /// Makes a call that is in no table, with retries, if it is certain that it was not carried out.
    pub(crate) async fn call_once<T, F>(&self, call: impl FnMut() -> F) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        let Settings {
            retry, deadline, ..
        } = self.settings;
        with_retries(retry, deadline, Repeat::IfNotDone, call).await
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        // The parent's connections are not the child's to close.
        if self.is_forked() {
            mem::forget(self.transport.take());
        }
    }
}
