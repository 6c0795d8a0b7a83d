use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use reflect_types::ProjectId;

use crate::error::{Error, Result};
use crate::transport::{Nowhere, Transport};
use crate::worker::Worker;
use crate::worker::job::Job;
use crate::worker::notice::{Cause, Notices};
use crate::worker::outbox::{Outbox, Overflow};
use crate::worker::per_process::PerProcess;
use crate::worker::retry::{Repeat, RetryPolicy, with_retries};
use crate::worker::spool::Spool;
use crate::worker::stats::Counters;

/// What all handles of a client share.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) project: ProjectId,
    pub(crate) settings: Settings,
    pub(crate) counters: Counters,
    pub(crate) notices: Notices,
    pub(crate) spool: Option<Spool>,
    enabled: bool,
    live: PerProcess<Live>,
}

/// What a client was told about waiting, trying again and giving up.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// How often an explicit call is tried.
    pub(crate) retry: RetryPolicy,
    /// How long an explicit call may take, with all its attempts.
    pub(crate) deadline: Duration,
    /// How long a run waits for its memories before it goes on without them.
    pub(crate) retrieval_timeout: Duration,
    /// How often a finished run is sent, and for how long in all.
    pub(crate) submit_retry: RetryPolicy,
    pub(crate) submit_deadline: Duration,
    /// How many finished runs may wait to be sent, and what happens to the next one.
    pub(crate) queue: usize,
    pub(crate) overflow: Overflow,
    /// How long the last handle waits for what is still to be sent.
    pub(crate) shutdown_timeout: Duration,
    /// Whether a panic may be the end of the process.
    #[cfg(feature = "panic-hook")]
    pub(crate) flush_on_panic: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            retry: RetryPolicy::default(),
            deadline: Duration::from_secs(120),
            retrieval_timeout: Duration::from_secs(5),
            // Nobody waits for these, so an outage of some minutes need not lose them.
            submit_retry: RetryPolicy::default()
                .attempts(u32::MAX)
                .backoff(Duration::from_millis(250), Duration::from_secs(30)),
            submit_deadline: Duration::from_secs(600),
            queue: 1_024,
            overflow: Overflow::default(),
            shutdown_timeout: Duration::from_secs(5),
            #[cfg(feature = "panic-hook")]
            flush_on_panic: cfg!(panic = "abort"),
        }
    }
}

impl Core {
    pub(super) fn new(
        project: ProjectId,
        settings: Settings,
        transport: Arc<dyn Transport>,
        spool: Option<Spool>,
    ) -> Self {
        Self {
            project,
            settings,
            counters: Counters::default(),
            notices: Notices::default(),
            spool,
            enabled: true,
            live: PerProcess::new(Live::new(transport)),
        }
    }

    /// A core that never does anything.
    pub(super) fn disabled() -> Self {
        let settings = Settings::default();
        Self {
            enabled: false,
            ..Self::new(ProjectId::default(), settings, Arc::new(Nowhere), None)
        }
    }

    pub(crate) fn is_enabled(&self) -> bool {
        self.enabled
    }

    pub(super) fn check_enabled(&self) -> Result<()> {
        if self.enabled {
            Ok(())
        } else {
            Err(Error::Disabled)
        }
    }

    fn live(&self) -> &Live {
        self.live.get_or_make(Live::after_fork)
    }

    pub(crate) fn transport(&self) -> &dyn Transport {
        &*self.live().transport
    }

    pub(crate) fn worker(&self) -> &Worker {
        &self.live().worker
    }

    pub(crate) fn outbox(&self) -> &Arc<Outbox> {
        &self.live().outbox
    }

    /// The outbox, unless this process has sent nothing yet.
    pub(crate) fn outbox_in_use(&self) -> Option<&Arc<Outbox>> {
        self.live.get().map(|live| &live.outbox)
    }

    /// The worker and the transport, if this process has used them and nothing is on its way.
    pub(super) fn idle_in_use(&self) -> Option<(&Worker, Arc<dyn Transport>)> {
        let live = self.live.get()?;
        let idle = live.worker.is_running() && live.outbox.is_idle();
        idle.then(|| (&live.worker, Arc::clone(&live.transport)))
    }

    /// Takes a finished run, which is then sent in the background.
    pub(crate) fn submit(self: &Arc<Self>, mut job: Job) {
        job.keep_on_disk();
        self.outbox().submit(self, job);
    }

    /// Sends what an earlier client had to leave on disk. Nothing is started if there is nothing.
    pub(super) fn send_left_overs(self: &Arc<Self>) {
        let Some(spool) = &self.spool else { return };
        let left = spool.take_over();
        for entry in left.entries {
            let job = Job::left_over(Arc::clone(self), entry);
            self.outbox().submit(self, job);
        }
        if let Some(error) = left.problem {
            let what = format!("what was spooled before cannot be sent, or not all of it: {error}");
            self.notices.warn(Cause::Spool, what);
        }
        if left.foreign > 0 {
            let what = format!(
                "{} spooled runs are left alone, as they are for another server: a client of that \
                 server sends them, or remove them",
                left.foreign
            );
            self.notices.warn(Cause::Foreign, what);
        }
    }

    /// Makes a call that may be repeated freely.
    pub(crate) async fn send<T, F>(&self, call: impl FnMut() -> F) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        let settings = &self.settings;
        with_retries(settings.retry, settings.deadline, Repeat::Freely, call).await
    }

    /// Makes a call that must not happen twice.
    pub(super) async fn send_once<T, F>(&self, call: impl FnMut() -> F) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        let settings = &self.settings;
        with_retries(settings.retry, settings.deadline, Repeat::IfNotDone, call).await
    }
}

/// What works in one process only: a fork copies a client's memory but not its thread, and shares
/// its connections.
#[derive(Debug)]
struct Live {
    transport: Arc<dyn Transport>,
    worker: Worker,
    outbox: Arc<Outbox>,
}

impl Live {
    fn new(transport: Arc<dyn Transport>) -> Self {
        Self {
            transport,
            worker: Worker::default(),
            outbox: Arc::default(),
        }
    }

    /// The same for a forked child.
    fn after_fork(&self) -> Self {
        let fresh = Arc::clone(&self.transport).after_fork();
        Self::new(fresh.unwrap_or_else(|| Arc::clone(&self.transport)))
    }
}
