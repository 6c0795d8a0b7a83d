//! Finished runs on their way to Reflect.

#[cfg(feature = "flush-at-exit")]
pub(crate) mod at_exit;
mod delivery;
#[cfg(test)]
mod explored;
mod gate;
mod numbers;
mod pending_run;
mod queue;
#[cfg(any(feature = "flush-at-exit", feature = "panic-hook"))]
pub(crate) mod registry;
mod runs;

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout, timeout_at};

pub(crate) use self::delivery::Delivery;
pub(crate) use self::pending_run::PendingRun;
use self::pending_run::{Progress, report_failure};
use self::queue::{Queue, QueuedRun, Submission};
pub(crate) use self::runs::Runs;
use crate::core::{Cause, Core, DeliveryStats, Overflow, block_on};
use crate::error::Error;
use crate::spool::Spool;

/// The number of runs that are sent at the same time.
const LANES: usize = 8;
/// The number of runs that may have failed, and wait for another attempt, before no more are begun.
const MAX_RETRYING: usize = 64;
/// The pause after which a spooled run is sent again that could not be sent within its time.
const SPOOLED_RETRY: Duration = Duration::from_secs(60);

/// The locks of the queue; its exploration test has others.
mod sync {
    pub(super) use std::sync::{Mutex, MutexGuard, PoisonError};

    pub(super) use tokio::sync::Notify;

    pub(super) use crate::core::block_on;
}

/// Sends finished runs in the background. Cheap to clone.
///
/// A pending run holds the core, and so the I/O thread; the dispatcher on that thread holds the
/// queues. So an outbox outlives the last handle of its client until its runs are settled.
#[derive(Clone, Debug)]
pub(crate) struct Outbox {
    core: Arc<Core>,
    queue: Arc<Queue>,
}

impl Outbox {
    pub(crate) fn new(core: Arc<Core>) -> Self {
        let settings = &core.settings;
        let queue = Arc::new(Queue::new(settings.queue, settings.submit_retry));
        Self { core, queue }
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// The queue, unless it belongs to the process that forked this one.
    fn own(&self) -> Option<&Queue> {
        (!self.core.is_forked()).then_some(&*self.queue)
    }

    /// Takes a finished run, and spools it where there is a spool. It returns immediately, except when the
    /// queue is full and [`Overflow::Block`] is set.
    pub(crate) fn submit(&self, mut run: PendingRun) {
        run.keep_on_disk();
        self.enqueue(run);
    }

    /// Sends what an earlier client had to leave on disk. Nothing is started if there is nothing.
    pub(crate) fn send_left_overs(&self, runs: &Runs) {
        let Some(spool) = &self.core.spool else {
            return;
        };
        let left = spool.take_over();
        for entry in left.entries {
            let delivery = runs.add(entry.run_id(), &self.core);
            self.enqueue(PendingRun::on_disk(Arc::clone(&self.core), entry, delivery));
        }
        if let Some(error) = left.problem {
            let what = format!("some spooled runs cannot be sent: {error}");
            self.core.notices.warn(Cause::Spool, what);
        }
        if left.foreign > 0 {
            let what = format!(
                "{} spooled runs are for another server and stay in the folder: start a client of \
                 that server to send them, or remove them",
                left.foreign
            );
            self.core.notices.warn(Cause::Foreign, what);
        }
    }

    fn enqueue(&self, run: PendingRun) {
        if let Err(error) = self.core.transport() {
            run.give_up(error);
            return;
        }
        let worker = self.core.worker();
        let patience = match self.core.settings.overflow {
            Overflow::Block(limit) if !worker.is_this_thread() => limit,
            // Only this thread makes room.
            _ => Duration::ZERO,
        };
        match self.queue.submit(run, patience) {
            Submission::Accepted => {}
            Submission::AcceptedFirst => {
                if let Err(error) = worker.detach(dispatch(Arc::clone(&self.queue))) {
                    self.fail_all(&error);
                }
            }
            Submission::Refused(run) => run.drop_for_lack_of_room(),
        }
    }

    /// Closes the transport within `limit`, if it was used.
    pub(crate) fn close(&self, limit: Duration) {
        let (Ok(transport), true) = (self.core.transport(), self.core.worker().is_running()) else {
            return;
        };
        let transport = Arc::clone(transport);
        let closing = async move {
            transport.close_within(limit).await;
            Ok(())
        };
        if let Err(error) = self.core.worker().wait(closing, limit) {
            tracing::debug!(target: "reflect", %error, "the transport was not closed");
        }
    }

    /// Whether all runs so far are settled.
    pub(crate) fn is_idle(&self) -> bool {
        self.own().is_none_or(Queue::is_idle)
    }

    /// The runs so far, for [`wait`](Self::wait); `None` if there are none.
    pub(crate) fn mark(&self) -> Option<u64> {
        self.own().map(Queue::mark)
    }

    /// Waits until all runs before the mark are settled, for at most `limit`. Runs that wait for
    /// another attempt are sent immediately.
    pub(crate) async fn wait(&self, mark: u64, limit: Duration) {
        if self.queue.is_settled(mark) || limit.is_zero() {
            return;
        }
        self.queue.open_gate(Instant::now(), false);
        let queue = Arc::clone(&self.queue);
        // On the I/O thread, where a clock is certain.
        let waiting = self.core.worker().spawn(async move {
            // Whether the time was up shows in what is left.
            let _ = timeout(limit, queue.settled_up_to(mark)).await;
        });
        if let Ok(waiting) = waiting {
            // An error means that the thread is gone, and with it every run.
            let _ = waiting.await;
        }
    }

    /// Waits until all runs so far are settled, for at most `limit`; not on the I/O thread, which
    /// settles them. Runs that wait for another attempt are sent immediately.
    pub(crate) fn wait_blocking(&self, limit: Duration) {
        let Some(queue) = self.own() else { return };
        if !limit.is_zero() && !self.core.worker().is_this_thread() {
            queue.open_gate(Instant::now(), false);
            // Whether the time was up shows in what is left.
            let _ = block_on(queue.settled_up_to(queue.mark()), limit);
        }
    }

    pub(crate) fn stats(&self) -> DeliveryStats {
        let counters = &self.core.counters;
        DeliveryStats {
            sent: counters.sent.get(),
            failed: counters.failed.get(),
            dropped: counters.dropped.get(),
            spooled: self.core.spool.as_ref().map_or(0, Spool::waiting),
            pending: self.own().map_or(0, Queue::not_on_disk),
            abandoned: counters.abandoned.get(),
            discarded: counters.discarded.get(),
            retrievals_failed: counters.retrievals_failed.get(),
            without_memory: counters.without_memory.get(),
            last_problem: self.core.notices.last_problem(),
        }
    }

    /// Fails every waiting run, because the I/O thread cannot be started.
    fn fail_all(&self, error: &Error) {
        for QueuedRun { ticket, run } in self.queue.abandon() {
            run.give_up(error.clone());
            // Last, so that a waiter finds it counted.
            self.queue.settle(ticket);
        }
    }
}

async fn dispatch(queue: Arc<Queue>) {
    loop {
        let (opened, due) = queue.open_lanes(Instant::now());
        for first in opened {
            tokio::spawn(lane(Arc::clone(&queue), first));
        }
        match due {
            // Whether there is work or the time has come, the queue knows.
            Some(due) => drop(timeout_at(due, queue.work()).await),
            None => queue.work().await,
        }
    }
}

/// Sends one run after the other until none is left. One that has to be sent again waits elsewhere, so
/// that runs that Reflect cannot take do not delay others.
async fn lane(queue: Arc<Queue>, first: QueuedRun) {
    let mut next = Some(first);
    while let Some(QueuedRun { ticket, run }) = next {
        let (core, delivery) = (Arc::clone(run.core()), Arc::clone(run.delivery()));
        let twin = run.spooled_twin();
        // A task of its own, so that a panic in a transport ends this run alone.
        match tokio::spawn(run.deliver()).await {
            Ok(Progress::Failed(run, failure)) => {
                next = queue.fail_and_take(QueuedRun { ticket, run: *run }, failure);
                continue;
            }
            Ok(Progress::Arrived) => queue.open_gate(Instant::now(), true),
            Ok(Progress::Settled) => {}
            Ok(Progress::PutOff) => try_later(&core, &queue, twin),
            Err(panic) => {
                let error = Error::Worker(format!("sending the run failed: {panic}"));
                report_failure(&core, &delivery, error, twin.is_some());
                try_later(&core, &queue, twin);
            }
        }
        drop(core);
        next = queue.settle_and_take(ticket);
    }
}

/// Sends a spooled run again after a while. If the client is gone by then, the next one sends it.
fn try_later(core: &Arc<Core>, queue: &Arc<Queue>, twin: Option<pending_run::SpooledRun>) {
    let Some(twin) = twin else { return };
    let (core, queue): (Weak<Core>, _) = (Arc::downgrade(core), Arc::clone(queue));
    tokio::spawn(async move {
        sleep(SPOOLED_RETRY).await;
        if let Some(core) = core.upgrade() {
            let run = twin.into_pending(Arc::clone(&core));
            Outbox { core, queue }.enqueue(run);
        }
    });
}
