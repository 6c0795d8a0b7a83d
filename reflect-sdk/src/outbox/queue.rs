//! The queue of finished runs: accepting, taking, settling and waiting for all of them.
//!
//! It imports its neighbours from `super` only, so that `explored.rs` can compile this file a second
//! time on locks that explore interleavings.

use std::collections::VecDeque;
use std::mem;
use std::pin::pin;
use std::time::Duration;

use super::between_attempts::Resting;
use super::numbers::Numbers;
use super::pending_run::PendingRun;
use super::sync::{Condvar, Mutex, MutexGuard, Notify, PoisonError};
use super::{LANES, MAX_RETRYING};

/// The queue, with a record of settled runs.
///
/// Every accepted run has a number. A flush remembers the next number and waits until all before it
/// are settled, so it needs no place in the queue and cannot miss a run that was accepted before.
#[derive(Debug, Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    /// A run was settled, or there is room.
    changed: Condvar,
    changed_async: Notify,
    /// There is a run to send.
    work: Notify,
}

/// The result of a submission.
#[derive(Debug)]
pub(super) enum Submission {
    /// The run is queued, and the dispatcher runs.
    Accepted,
    /// The run is queued, and the caller has to start the dispatcher.
    AcceptedFirst,
    /// There is no room.
    Refused(PendingRun),
}

/// An accepted run.
#[derive(Debug)]
pub(super) struct QueuedRun {
    pub(super) ticket: Ticket,
    pub(super) run: PendingRun,
}

/// The queue's record of a run in a lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticket {
    number: u64,
    on_disk: bool,
    /// Whether an attempt has failed.
    retrying: bool,
    /// Whether the success of another run has cut its last rest short.
    woken_by_success: bool,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<QueuedRun>,
    /// Runs that wait for another attempt.
    resting: Resting<QueuedRun>,
    /// Runs that have rested and are due for another attempt.
    rested: VecDeque<QueuedRun>,
    /// The number of waiting runs that are in memory. Only these count against the capacity: one run
    /// that Reflect cannot take must not cost the others their room.
    in_memory: usize,
    /// The number of unsettled runs with a failed attempt. When there are many, Reflect is at fault,
    /// and no more are begun: the time of a run begins with its first attempt. So this many, and those
    /// in the lanes, are in memory beyond the capacity.
    retrying: usize,
    /// The number of busy lanes.
    lanes: usize,
    numbers: Numbers,
    not_on_disk: u64,
    /// Whether the dispatcher runs, and whether it was woken and has not looked yet.
    dispatching: bool,
    woken: bool,
}

impl Queue {
    /// Accepts a run. If the queue is full it waits for room, for at most `patience`.
    pub(super) fn submit(
        &self,
        mut run: PendingRun,
        capacity: usize,
        patience: Duration,
    ) -> Submission {
        let full = |state: &State| state.in_memory >= capacity;
        let mut state = self.lock();
        if full(&state) && !run.leave_on_disk() {
            if !patience.is_zero() {
                state = self
                    .changed
                    .wait_timeout_while(state, patience, |state| full(state))
                    .unwrap_or_else(PoisonError::into_inner)
                    .0;
            }
            if full(&state) {
                return Submission::Refused(run);
            }
        }
        state.accept(run);
        let wake = state.wakes();
        let start = !mem::replace(&mut state.dispatching, true);
        drop(state);
        if start {
            return Submission::AcceptedFirst;
        }
        if wake {
            self.work.notify_one();
        }
        Submission::Accepted
    }

    /// The number of the next run, for a flush to wait for.
    pub(super) fn mark(&self) -> u64 {
        self.lock().numbers.next()
    }

    /// Whether all runs before the mark are settled.
    pub(super) fn is_settled(&self, mark: u64) -> bool {
        self.lock().numbers.are_settled(mark)
    }

    /// Whether all runs so far are settled.
    pub(super) fn is_idle(&self) -> bool {
        let state = self.lock();
        state.numbers.are_settled(state.numbers.next())
    }

    /// Waits until all runs before the mark are settled.
    pub(super) async fn settled_up_to(&self, mark: u64) {
        loop {
            let mut changed = pin!(self.changed_async.notified());
            // Register before looking, so that no change in between is missed.
            changed.as_mut().enable();
            if self.is_settled(mark) {
                return;
            }
            changed.await;
        }
    }

    /// Waits until all runs so far are settled, for at most `limit`.
    pub(super) fn wait_blocking(&self, limit: Duration) {
        let state = self.lock();
        let mark = state.numbers.next();
        let pending = |state: &mut State| !state.numbers.are_settled(mark);
        drop(self.changed.wait_timeout_while(state, limit, pending));
    }

    /// The number of unsettled runs that are not on disk.
    pub(super) fn not_on_disk(&self) -> u64 {
        self.lock().not_on_disk
    }

    /// Waits until there may be something to send.
    pub(super) async fn work(&self) {
        self.work.notified().await;
    }

    /// The first runs of as many lanes as there is work for.
    pub(super) fn open_lanes(&self) -> Vec<QueuedRun> {
        let mut state = self.lock();
        state.woken = false;
        let mut opened = Vec::new();
        while state.lanes < LANES {
            let Some(next) = state.take() else { break };
            state.lanes += 1;
            opened.push(next);
        }
        drop(state);
        self.changed.notify_all();
        opened
    }

    /// Settles a run, and takes the next one or closes the lane.
    pub(super) fn settle_and_take(&self, ticket: Ticket) -> Option<QueuedRun> {
        let mut state = self.lock();
        state.settle(ticket);
        let next = state.take_or_close();
        // One retrying run less may make room for another lane.
        let wake = ticket.retrying && state.wakes();
        drop(state);
        self.notify();
        if wake {
            self.work.notify_one();
        }
        next
    }

    /// Lets a run rest until its next attempt, and takes the next one or closes the lane. Returns the number of the rest,
    /// which [`end_rest`](Self::end_rest) ends. If `held`, only the end of the wait that the server
    /// asked for lets other events end it.
    pub(super) fn rest_and_take(&self, mut run: QueuedRun, held: bool) -> (u64, Option<QueuedRun>) {
        let mut state = self.lock();
        state.retrying += usize::from(!mem::replace(&mut run.ticket.retrying, true));
        let number = state.resting.add(run, held);
        let next = state.take_or_close();
        drop(state);
        self.changed.notify_all();
        (number, next)
    }

    /// Ends the part of a rest that the server asked for.
    pub(super) fn end_asked_wait(&self, number: u64) {
        self.resume(|state| state.resting.release(number).into_iter().collect());
    }

    /// Ends a rest, unless it was cut short.
    pub(super) fn end_rest(&self, number: u64) {
        self.resume(|state| {
            let mut run = state.resting.end(number);
            if let Some(run) = &mut run {
                run.ticket.woken_by_success = false;
            }
            run.into_iter().collect()
        });
    }

    /// Cuts every rest short, for a caller who waits.
    pub(super) fn wake_all(&self) {
        self.resume(|state| {
            state.resting.wake(|QueuedRun { ticket, run }| {
                ticket.woken_by_success = false;
                run.uncount_attempt();
                true
            })
        });
    }

    /// Cuts rests short because Reflect has taken another run. A run that fails nevertheless rests in
    /// full: the fault may be its own.
    pub(super) fn wake_after_success(&self) {
        self.resume(|state| {
            state.resting.wake(|QueuedRun { ticket, run }| {
                let wakes = !mem::replace(&mut ticket.woken_by_success, true);
                if wakes {
                    run.uncount_attempt();
                }
                wakes
            })
        });
    }

    /// Queues runs that have rested.
    fn resume(&self, rested: impl FnOnce(&mut State) -> Vec<QueuedRun>) {
        let mut state = self.lock();
        let rested = rested(&mut state);
        let wake = !rested.is_empty() && state.wakes();
        state.rested.extend(rested);
        drop(state);
        if wake {
            self.work.notify_one();
        }
    }

    /// Takes all waiting runs, because the dispatcher did not start. The next accepted run is the
    /// first again.
    pub(super) fn abandon(&self) -> Vec<QueuedRun> {
        let mut state = self.lock();
        state.dispatching = false;
        state.woken = false;
        // Without a dispatcher no attempt has failed yet.
        std::iter::from_fn(|| state.take()).collect()
    }

    /// Settles a run outside the lanes.
    pub(super) fn settle(&self, ticket: Ticket) {
        self.lock().settle(ticket);
        self.notify();
    }

    fn notify(&self) {
        self.changed.notify_all();
        self.changed_async.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn accept(&mut self, run: PendingRun) {
        let ticket = Ticket {
            number: self.numbers.issue(),
            on_disk: run.is_on_disk(),
            retrying: false,
            woken_by_success: false,
        };
        self.in_memory += usize::from(run.is_in_memory());
        self.not_on_disk += u64::from(!ticket.on_disk);
        self.waiting.push_back(QueuedRun { ticket, run });
    }

    fn take(&mut self) -> Option<QueuedRun> {
        if let Some(rested) = self.rested.pop_front() {
            return Some(rested);
        }
        if self.retrying >= MAX_RETRYING {
            return None;
        }
        let next = self.waiting.pop_front()?;
        self.in_memory -= usize::from(next.run.is_in_memory());
        Some(next)
    }

    fn take_or_close(&mut self) -> Option<QueuedRun> {
        let next = self.take();
        self.lanes -= usize::from(next.is_none());
        next
    }

    /// Whether the dispatcher has to be woken because another lane could be opened.
    fn wakes(&mut self) -> bool {
        self.lanes < LANES && !mem::replace(&mut self.woken, true)
    }

    fn settle(&mut self, ticket: Ticket) {
        let is_new = self.numbers.settle(ticket.number);
        debug_assert!(is_new, "run {} is settled twice", ticket.number);
        self.not_on_disk -= u64::from(!ticket.on_disk);
        self.retrying -= usize::from(ticket.retrying);
    }
}
