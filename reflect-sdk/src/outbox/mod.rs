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
mod sending;
mod weight;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use reflect_types::CreateTraces;
use tokio::time::{Instant, timeout};

pub(crate) use self::delivery::Delivery;
pub(crate) use self::pending_run::PendingRun;
use self::queue::{Queue, QueuedRun, Submission};
use crate::core::{Cause, Core, DeliveryStats, Overflow, block_on, on_runtime};
use crate::error::Error;
use crate::spool::Spool;

/// The most runs in a request, and about the most bytes of one with several.
const TOGETHER: usize = CreateTraces::MAX_TRACES;
const TOGETHER_BYTES: usize = 1_000_000;
/// The number of requests with one run that are sent at the same time.
const ALONE: usize = 8;
/// The number of runs that may have failed, and wait for another attempt, before no more are begun.
const MAX_RETRYING: usize = 64;

/// The locks of the queue; its exploration test has others.
mod sync {
    pub(super) use std::sync::{Mutex, MutexGuard, PoisonError};

    pub(super) use tokio::sync::Notify;

    pub(super) use crate::core::block_on;
}

/// Sends finished runs in the background. Cheap to clone.
///
/// A pending run holds the core, and so the I/O thread; what empties the queue, on that thread, holds the
/// queue. So an outbox outlives the last handle of its client until its runs are settled.
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

    /// Sends what an earlier client had to leave on disk. Nothing is started if there is nothing.
    pub(crate) fn send_left_overs(&self) {
        let Some(spool) = &self.core.spool else {
            return;
        };
        let left = spool.take_over();
        for entry in left.entries {
            self.submit(PendingRun::left_over(Arc::clone(&self.core), entry));
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

    /// Takes a finished run. It returns immediately, except on a thread outside of a runtime when the queue is full and
    /// [`Overflow::Block`] is set.
    pub(crate) fn submit(&self, run: PendingRun) {
        if let Err(error) = self.core.transport() {
            run.put_off(error);
            return;
        }
        let patience = match self.core.settings.overflow {
            Overflow::Block(limit) if !on_runtime() => limit,
            _ => Duration::ZERO,
        };
        match self.queue.submit(run, patience) {
            Submission::Accepted => {}
            Submission::AcceptedFirst => {
                if let Err(error) = self.start() {
                    self.fail_all(&error);
                }
            }
            Submission::Refused(run) => run.drop_for_lack_of_room(),
        }
    }

    /// Starts what empties the queue.
    fn start(&self) -> Result<(), Error> {
        let (worker, settings) = (self.core.worker(), &self.core.settings);
        if settings.before_send.is_some() || self.core.spool.is_some() {
            worker.detach(sending::prepare(Arc::clone(&self.queue)))?;
        }
        worker.detach(sending::send(Arc::clone(&self.queue)))
    }

    /// Closes the transport within `limit`, if it was used.
    pub(crate) fn close(&self, limit: Duration) {
        let worker = self.core.worker();
        if !worker.is_running() {
            return;
        }
        let core = Arc::clone(&self.core);
        let closing = async move {
            core.close(limit).await;
            Ok(())
        };
        if let Err(error) = worker.wait(closing, limit) {
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
        self.queue.open_gate(Instant::now());
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
            queue.open_gate(Instant::now());
            // Whether the time was up shows in what is left.
            let _ = block_on(queue.settled_up_to(queue.mark()), limit);
        }
    }

    /// Waits as the end of the client or of the process does: for at most `limit`, and once for the same runs.
    pub(crate) fn wait_at_end(&self, limit: Duration) {
        let Some(mark) = self.mark() else { return };
        if self.core.waited_for.swap(mark, Ordering::Relaxed) < mark {
            self.wait_blocking(limit);
        }
    }

    /// Ends with the last handle of the client: waits for pending runs, and closes the transport if there are none
    /// left. On a thread of a runtime this goes on in the background.
    pub(crate) fn end(&self) {
        let (limit, worker) = (self.core.settings.shutdown_timeout, self.core.worker());
        if !on_runtime() {
            self.wait_at_end(limit);
            // Runs may still be on their way through the transport.
            if self.is_idle() {
                self.close(limit);
            }
        } else if worker.is_running() && !self.core.is_forked() {
            let outbox = self.clone();
            let ending = async move {
                outbox.wait(outbox.queue.mark(), limit).await;
                if outbox.is_idle() {
                    outbox.core.close(limit).await;
                }
            };
            if let Err(error) = worker.detach(ending) {
                tracing::debug!(target: "reflect", %error, "the transport was not closed");
            }
        }
    }

    /// Says what the end of the process loses, after it has waited.
    #[cfg(feature = "flush-at-exit")]
    pub(crate) fn say_what_is_lost(&self) {
        let lost = self.own().map_or(0, Queue::not_on_disk);
        if lost == 0 {
            return;
        }
        let why = self.core.notices.last_problem();
        let why = why.unwrap_or_else(|| "there was no time".to_owned());
        crate::core::print(&format!(
            "{lost} finished runs were not sent before the end: {why}. `.spool(dir)` of the client keeps such runs on \
             disk for the next one, `.shutdown_timeout(…)` waits longer"
        ));
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
            withheld: counters.withheld.get(),
            retrievals_failed: counters.retrievals_failed.get(),
            without_memory: counters.without_memory.get(),
            last_problem: self.core.notices.last_problem(),
        }
    }

    /// Fails every waiting run, because the I/O thread cannot be started.
    fn fail_all(&self, error: &Error) {
        for QueuedRun { ticket, run } in self.queue.abandon() {
            run.put_off(error.clone());
            // Last, so that a waiter finds it counted.
            self.queue.settle(ticket);
        }
    }
}
