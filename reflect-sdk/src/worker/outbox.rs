//! Finished runs on their way out.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::job::{Job, failed};
use super::queue::{Handed, Numbered, Queue};
use crate::client::Core;
use crate::error::Error;

/// What happens to a finished run when the queue is full and there is no spool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Overflow {
    /// The thread that finished it waits for room, at most this long; then the run is dropped.
    Block(Duration),
    /// It is dropped at once.
    Drop,
}

impl Default for Overflow {
    fn default() -> Self {
        Self::Block(Duration::from_secs(1))
    }
}

/// The queue, and those who empty it.
#[derive(Debug, Default)]
pub(crate) struct Outbox(Queue);

impl Outbox {
    /// Takes a run. It returns at once, except when the queue is full and [`Overflow::Block`] is
    /// set.
    pub(crate) fn submit(self: &Arc<Self>, core: &Arc<Core>, job: Job) {
        let patience = match core.settings.overflow {
            Overflow::Block(limit) if !core.worker().is_this_thread() => limit,
            // Nobody else would make room.
            _ => Duration::ZERO,
        };
        match self.0.submit(job, core.settings.queue, patience) {
            Handed::Accepted => {}
            Handed::AcceptedFirst => {
                if let Err(error) = core.worker().detach(dispatch(Arc::clone(self))) {
                    self.fail_all(&error);
                }
            }
            Handed::Refused(job) => job.drop_for_lack_of_room(),
        }
    }

    /// Whether all runs so far are settled.
    pub(crate) fn is_idle(&self) -> bool {
        self.0.is_idle()
    }

    /// The number that a flush has to wait for.
    pub(crate) fn mark(&self) -> u64 {
        self.0.mark()
    }

    /// Waits until all runs before the mark are settled.
    pub(crate) async fn wait(self: &Arc<Self>, core: &Core, mark: u64, limit: Duration) {
        if self.0.is_settled(mark) {
            return;
        }
        let outbox = Arc::clone(self);
        // On the worker's thread, because only there a clock is certain.
        let waiting = core.worker().spawn(async move {
            // Whether the time was up shows in what is left.
            let _ = timeout(limit, outbox.0.settled_up_to(mark)).await;
        });
        if let Ok(waiting) = waiting {
            // An error means that the thread is gone, and there is nothing to wait for.
            let _ = waiting.await;
        }
    }

    /// Waits until all runs so far are settled; not at all on the thread that would settle them.
    pub(crate) fn wait_blocking(&self, core: &Core, limit: Duration) {
        if !limit.is_zero() && !core.worker().is_this_thread() {
            self.0.wait_blocking(limit);
        }
    }

    /// How many runs are on their way without being kept on disk.
    pub(crate) fn on_no_disk(&self) -> u64 {
        self.0.on_no_disk()
    }

    /// There is no thread to send anything.
    fn fail_all(&self, error: &Error) {
        for Numbered { ticket, job } in self.0.abandon() {
            job.give_up(error.duplicate());
            // Last, so that whoever waits finds it counted.
            self.0.settle(ticket);
        }
    }
}

async fn dispatch(outbox: Arc<Outbox>) {
    loop {
        for first in outbox.0.open_lanes() {
            tokio::spawn(lane(Arc::clone(&outbox), first));
        }
        outbox.0.work().await;
    }
}

/// Sends one run after the other until none is left. One that has to be sent again rests elsewhere
/// until then, so that runs that Reflect cannot take hold up no others.
async fn lane(outbox: Arc<Outbox>, first: Numbered) {
    let mut next = Some(first);
    while let Some(Numbered { ticket, job }) = next {
        let (core, on_disk) = (Arc::clone(job.core()), job.is_on_disk());
        let (delivery, again) = (Arc::clone(job.delivery()), job.again());
        // A task of its own, so that a panic in a transport ends this run alone.
        let delivered = tokio::spawn(job.deliver()).await;
        if let Ok(Some((job, wait))) = delivered {
            let mut run = Numbered { ticket, job };
            next = outbox.0.rest_and_take(&mut run);
            tokio::spawn(rest(Arc::clone(&outbox), run, wait));
            continue;
        }
        if let Err(panic) = delivered {
            let error = Error::Worker(format!("sending the run failed: {panic}"));
            failed(&core, &delivery, error, on_disk);
            again.try_later();
        }
        drop(core);
        next = outbox.0.settle_and_take(ticket);
    }
}

async fn rest(outbox: Arc<Outbox>, run: Numbered, wait: Duration) {
    sleep(wait).await;
    outbox.0.back(run);
}
