//! Finished runs on their way out.

use std::collections::VecDeque;
use std::mem;
use std::pin::pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;

use super::job::{Job, Settled};
use crate::client::Core;
use crate::error::Error;

/// How many runs are sent at the same time.
const LANES: usize = 8;

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

/// The queue, and a record of what is done with it.
///
/// Every accepted run has a number. A flush remembers the next number and waits until all before it
/// are settled, so it needs no place in the queue, and cannot miss a run that was accepted before.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    state: Mutex<State>,
    /// Something was settled, or there is room.
    changed: Condvar,
    changed_async: Notify,
    /// There is something to send.
    work: Notify,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Numbered>,
    /// How many of those hold their run in memory; only these count against the capacity.
    in_memory: usize,
    /// How many lanes are busy.
    lanes: usize,
    /// The number of the first run that is not settled.
    first: u64,
    /// From that number on: whether it is settled.
    settled: VecDeque<bool>,
    on_no_disk: u64,
    /// Whether the dispatcher runs, and whether it has been woken and not looked yet.
    dispatching: bool,
    woken: bool,
}

#[derive(Debug)]
struct Numbered {
    number: u64,
    job: Job,
}

impl Outbox {
    /// Takes a run. It returns at once, except when the queue is full and [`Overflow::Block`] is
    /// set.
    pub(crate) fn submit(self: &Arc<Self>, core: &Arc<Core>, mut job: Job) {
        let mut state = self.lock();
        if state.in_memory >= core.settings.queue && !job.leave_on_disk() {
            state = self.wait_for_room(core, state);
            if state.in_memory >= core.settings.queue {
                drop(state);
                job.drop_for_lack_of_room();
                return;
            }
        }
        state.accept(job);
        let wake = state.lanes < LANES && !mem::replace(&mut state.woken, true);
        let start = !mem::replace(&mut state.dispatching, true);
        drop(state);
        if start {
            if let Err(error) = core.worker().detach(dispatch(Arc::clone(self))) {
                self.fail_all(&error);
            }
        } else if wake {
            self.work.notify_one();
        }
    }

    /// The number that a flush has to wait for.
    pub(crate) fn mark(&self) -> u64 {
        self.lock().next_number()
    }

    /// Waits until all runs before the mark are settled.
    pub(crate) async fn wait(self: &Arc<Self>, core: &Core, mark: u64, limit: Duration) {
        if self.is_settled(mark) {
            return;
        }
        let outbox = Arc::clone(self);
        // On the worker's thread, because only there a clock is certain.
        let waiting = core.worker().spawn(async move {
            // Whether the time was up shows in what is left.
            let _ = timeout(limit, outbox.settled_up_to(mark)).await;
        });
        if let Ok(waiting) = waiting {
            // An error means that the thread is gone, and there is nothing to wait for.
            let _ = waiting.await;
        }
    }

    /// Waits until all runs so far are settled; not at all on the thread that would settle them.
    pub(crate) fn wait_blocking(&self, core: &Core, limit: Duration) {
        let state = self.lock();
        let mark = state.next_number();
        if state.first >= mark || limit.is_zero() || core.worker().is_this_thread() {
            return;
        }
        drop(
            self.changed
                .wait_timeout_while(state, limit, |state| state.first < mark),
        );
    }

    /// How many runs are on their way without being kept on disk.
    pub(crate) fn on_no_disk(&self) -> u64 {
        self.lock().on_no_disk
    }

    async fn settled_up_to(&self, mark: u64) {
        loop {
            let mut changed = pin!(self.changed_async.notified());
            // Listen first, look then: what is settled in between is not missed.
            changed.as_mut().enable();
            if self.is_settled(mark) {
                return;
            }
            changed.await;
        }
    }

    fn is_settled(&self, mark: u64) -> bool {
        self.lock().first >= mark
    }

    fn wait_for_room<'a>(
        &'a self,
        core: &Core,
        state: MutexGuard<'a, State>,
    ) -> MutexGuard<'a, State> {
        let Overflow::Block(limit) = core.settings.overflow else {
            return state;
        };
        if core.worker().is_this_thread() {
            return state;
        }
        let full = |state: &mut State| state.in_memory >= core.settings.queue;
        self.changed
            .wait_timeout_while(state, limit, full)
            .unwrap_or_else(PoisonError::into_inner)
            .0
    }

    /// Starts as many lanes as there is work for.
    fn open_lanes(self: &Arc<Self>) {
        let mut state = self.lock();
        state.woken = false;
        while state.lanes < LANES {
            let Some(next) = state.take() else { break };
            state.lanes += 1;
            tokio::spawn(lane(Arc::clone(self), next));
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Settles a run, and takes the next one or closes the lane.
    fn settle_and_take(&self, number: u64, on_disk: bool) -> Option<Numbered> {
        let mut state = self.lock();
        state.settle(number, on_disk);
        let next = state.take();
        if next.is_none() {
            state.lanes -= 1;
        }
        drop(state);
        self.changed.notify_all();
        self.changed_async.notify_waiters();
        next
    }

    /// There is no thread to send anything.
    fn fail_all(&self, error: &Error) {
        let mut state = self.lock();
        state.dispatching = false;
        state.woken = false;
        let mut given_up = Vec::new();
        while let Some(next) = state.take() {
            state.settle(next.number, next.job.is_on_disk());
            given_up.push(next.job);
        }
        drop(state);
        for job in given_up {
            job.give_up(error.duplicate());
        }
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn next_number(&self) -> u64 {
        self.first + self.settled.len() as u64
    }

    fn accept(&mut self, job: Job) {
        let number = self.next_number();
        self.settled.push_back(false);
        self.in_memory += usize::from(job.is_in_memory());
        self.on_no_disk += u64::from(!job.is_on_disk());
        self.waiting.push_back(Numbered { number, job });
    }

    fn take(&mut self) -> Option<Numbered> {
        let next = self.waiting.pop_front()?;
        self.in_memory -= usize::from(next.job.is_in_memory());
        Some(next)
    }

    fn settle(&mut self, number: u64, on_disk: bool) {
        self.on_no_disk -= u64::from(!on_disk);
        let place = usize::try_from(number - self.first).ok();
        if let Some(settled) = place.and_then(|place| self.settled.get_mut(place)) {
            *settled = true;
        }
        while self.settled.front() == Some(&true) {
            self.settled.pop_front();
            self.first += 1;
        }
    }
}

async fn dispatch(outbox: Arc<Outbox>) {
    loop {
        outbox.open_lanes();
        outbox.work.notified().await;
    }
}

/// Sends one run after the other until none is left.
async fn lane(outbox: Arc<Outbox>, first: Numbered) {
    let mut next = Some(first);
    while let Some(Numbered { number, job }) = next {
        let (core, on_disk) = (Arc::clone(job.core()), job.is_on_disk());
        let delivery = Arc::clone(job.delivery());
        // A task of its own, so that a panic in a transport ends this run alone.
        let settled = tokio::spawn(job.deliver()).await.unwrap_or_else(|error| {
            let error = Error::Worker(format!("sending the run failed: {error}"));
            let failed = Settled::failed(&core, &delivery, error);
            if on_disk { Settled::Kept } else { failed }
        });
        settled.count(&core);
        drop(core);
        next = outbox.settle_and_take(number, on_disk);
    }
}
