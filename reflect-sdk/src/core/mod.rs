//! The parts that every handle, call and pending run of a client shares.

mod control;
mod listing;
mod notice;
mod retry;
mod settings;
mod stats;
mod wait;
mod worker;

use std::future::Future;
use std::sync::Arc;

use reflect_types::{Operation, ProjectId, Repeat, Reply, Request};
use tokio::time::Instant;

use self::control::ProjectControl;
#[cfg(feature = "macros")]
pub(crate) use self::notice::warn_once;
pub(crate) use self::notice::{Cause, Notices};
pub use self::retry::RetryPolicy;
use self::retry::with_retries;
pub(crate) use self::retry::{Retries, Wait, far};
pub use self::settings::Overflow;
pub(crate) use self::settings::Settings;
pub(crate) use self::stats::Counters;
pub use self::stats::DeliveryStats;
pub(crate) use self::wait::{Polling, wait_for};
pub(crate) use self::worker::Worker;
use crate::error::{Error, Result};
use crate::per_process::PerProcess;
use crate::spool::Spool;
use crate::transport::{Connection, Transport, Unavailable};

/// The shared state of a client.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) project: ProjectId,
    pub(crate) settings: Settings,
    pub(crate) counters: Counters,
    pub(crate) notices: Notices,
    pub(crate) spool: Option<Spool>,
    enabled: bool,
    project_control: ProjectControl,
    live: PerProcess<Live>,
}

/// The state of one process: a fork copies a client's memory but not its thread, and shares its
/// connections.
#[derive(Debug)]
struct Live {
    connection: Connection,
    worker: Worker,
}

impl Live {
    fn in_child(&self) -> Self {
        Self {
            connection: self.connection.in_child(),
            worker: Worker::default(),
        }
    }
}

impl Core {
    /// The core of a client whose connection was opened on this worker, or on none.
    pub(crate) fn new(
        project: ProjectId,
        settings: Settings,
        connection: Connection,
        worker: Worker,
        spool: Option<Spool>,
    ) -> Self {
        Self {
            project,
            settings,
            counters: Counters::default(),
            notices: Notices::default(),
            spool,
            enabled: true,
            project_control: ProjectControl::default(),
            live: PerProcess::new(Live { connection, worker }),
        }
    }

    /// The core of a disabled client.
    pub(crate) fn disabled() -> Self {
        let nowhere = Connection::shared(Arc::new(Unavailable(Error::Disabled)));
        let (project, settings) = (ProjectId::default(), Settings::default());
        Self {
            enabled: false,
            ..Self::new(project, settings, nowhere, Worker::default(), None)
        }
    }

    pub(crate) fn is_enabled(&self) -> bool {
        self.enabled
    }

    pub(crate) fn check_enabled(&self) -> Result<()> {
        if self.enabled {
            Ok(())
        } else {
            Err(Error::Disabled)
        }
    }

    fn live(&self) -> &Live {
        self.live.get_or_make(Live::in_child)
    }

    pub(crate) fn transport(&self) -> &Arc<dyn Transport> {
        self.live().connection.transport()
    }

    pub(crate) fn worker(&self) -> &Worker {
        &self.live().worker
    }

    /// The worker and the transport, if this process has used them.
    pub(crate) fn in_use(&self) -> Option<(&Worker, Arc<dyn Transport>)> {
        let live = self.live.get()?;
        let transport = live.connection.transport();
        live.worker
            .is_running()
            .then(|| (&live.worker, Arc::clone(transport)))
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
        let call = || self.transport().call(&self.project, request);
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
