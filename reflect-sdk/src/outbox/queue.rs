//! The queue of finished runs: accepting, taking, settling and waiting for all of them.
//!
//! It imports its neighbours from `super` only, so that `explored.rs` can compile this file a second
//! time on locks that explore interleavings.

use std::collections::VecDeque;
use std::mem;
use std::pin::pin;
use std::time::Duration;

use tokio::time::Instant;

use super::gate::{Failure, Gate};
use super::numbers::Numbers;
use super::pending_run::PendingRun;
use super::sync::{Mutex, MutexGuard, Notify, PoisonError, block_on};
use super::{LANES, MAX_RETRYING};
use crate::core::RetryPolicy;

/// The queue, with a record of settled runs.
///
/// Every accepted run has a number. A flush remembers the next number and waits until all before it
/// are settled, so it needs no place in the queue and cannot miss a run that was accepted before.
#[derive(Debug)]
pub(super) struct Queue {
    /// The maximum number of waiting runs in memory.
    capacity: usize,
    policy: RetryPolicy,
    state: Mutex<State>,
    /// A run was settled, or one in the line was accepted.
    changed: Notify,
    /// There is a run to send, or a failure whose time has to be kept.
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
    /// Whether the success of another run has let it through the gate.
    after_success: bool,
}

#[derive(Debug, Default)]
struct State {
    /// Runs for which there is no room, whose threads wait; first come, first served.
    line: VecDeque<(u64, PendingRun)>,
    /// The number of the next run in the line.
    next_in_line: u64,
    waiting: VecDeque<QueuedRun>,
    /// Runs that have failed.
    gate: Gate<QueuedRun>,
    /// Runs that the gate has let through.
    retries: VecDeque<QueuedRun>,
    /// The number of waiting runs that are in memory. Only these count against the capacity: one run
    /// that Reflect cannot take must not cost the others their room.
    in_memory: usize,
    /// The number of busy lanes.
    lanes: usize,
    numbers: Numbers,
    not_on_disk: u64,
    /// Whether the dispatcher runs, and whether it was woken and has not looked yet.
    dispatching: bool,
    woken: bool,
}

impl Queue {
    pub(super) fn new(capacity: usize, policy: RetryPolicy) -> Self {
        Self {
            capacity,
            policy,
            state: Mutex::default(),
            changed: Notify::default(),
            work: Notify::default(),
        }
    }

    /// Accepts a run. If the queue is full it waits in line for room, for at most `patience`.
    pub(super) fn submit(&self, mut run: PendingRun, patience: Duration) -> Submission {
        let mut state = self.lock();
        if state.in_memory >= self.capacity && !run.leave_on_disk() {
            if patience.is_zero() {
                return Submission::Refused(run);
            }
            let place = state.queue_up(run);
            drop(state);
            let accepted = self.until(|state| !state.is_in_line(place));
            // Whoever makes room accepts the run, so this thread need not be quick.
            block_on(accepted, patience);
            return match self.lock().leave_line(place) {
                Some(run) => Submission::Refused(run),
                None => Submission::Accepted,
            };
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
        self.until(|state| state.numbers.are_settled(mark)).await;
    }

    /// The number of unsettled runs that are not on disk.
    pub(super) fn not_on_disk(&self) -> u64 {
        self.lock().not_on_disk
    }

    /// Waits until there may be something to send.
    pub(super) async fn work(&self) {
        self.work.notified().await;
    }

    /// The first runs of as many lanes as there is work for, and when there will be more to retry.
    pub(super) fn open_lanes(&self, now: Instant) -> (Vec<QueuedRun>, Option<Instant>) {
        let mut state = self.lock();
        state.woken = false;
        let due = state.gate.open(now, self.policy);
        state.retry(due, |ticket, _| ticket.after_success = false);
        let mut opened = Vec::new();
        while state.lanes < LANES {
            let Some(next) = state.take(self.capacity) else {
                break;
            };
            state.lanes += 1;
            opened.push(next);
        }
        let next = state.gate.due();
        drop(state);
        self.changed.notify_waiters();
        (opened, next)
    }

    /// Settles a run, and takes the next one or closes the lane.
    pub(super) fn settle_and_take(&self, ticket: Ticket) -> Option<QueuedRun> {
        let mut state = self.lock();
        state.settle(ticket);
        let next = state.take_or_close(self.capacity);
        // One failed run less may make room for another lane.
        let wake = state.has_work() && state.wakes();
        drop(state);
        self.changed.notify_waiters();
        if wake {
            self.work.notify_one();
        }
        next
    }

    /// Puts a run that has failed behind the gate, and takes the next one or closes the lane.
    pub(super) fn fail_and_take(&self, run: QueuedRun, failure: Failure) -> Option<QueuedRun> {
        let mut state = self.lock();
        let suspect = run.ticket.after_success;
        state.gate.close_behind(run, failure, suspect);
        let next = state.take_or_close(self.capacity);
        drop(state);
        self.changed.notify_waiters();
        self.work.notify_one();
        next
    }

    /// Opens the gate for a caller who waits, or because Reflect has taken a run.
    pub(super) fn open_gate(&self, now: Instant, after_success: bool) {
        let mut state = self.lock();
        let early = state.gate.open_early(now, after_success);
        if after_success {
            state.gate.recover();
        }
        let wake = !early.is_empty() && state.wakes();
        state.retry(early, |ticket, run| {
            ticket.after_success = after_success;
            run.uncount_attempt();
        });
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
        let abandoned = std::iter::from_fn(|| state.take(self.capacity)).collect();
        drop(state);
        self.changed.notify_waiters();
        abandoned
    }

    /// Settles a run outside the lanes.
    pub(super) fn settle(&self, ticket: Ticket) {
        self.lock().settle(ticket);
        self.changed.notify_waiters();
    }

    #[cfg(test)]
    #[allow(
        dead_code,
        reason = "only the exploration, which compiles this again, looks at it"
    )]
    pub(super) fn in_line(&self) -> usize {
        self.lock().line.len()
    }

    /// Waits until the state is as wanted.
    async fn until(&self, is: impl Fn(&State) -> bool) {
        loop {
            let mut changed = pin!(self.changed.notified());
            // Register before looking, so that no change in between is missed.
            changed.as_mut().enable();
            if is(&self.lock()) {
                return;
            }
            changed.await;
        }
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
            after_success: false,
        };
        self.in_memory += usize::from(run.is_in_memory());
        self.not_on_disk += u64::from(!ticket.on_disk);
        self.waiting.push_back(QueuedRun { ticket, run });
    }

    /// Puts a run at the end of the line, and returns its place.
    fn queue_up(&mut self, run: PendingRun) -> u64 {
        let place = self.next_in_line;
        self.next_in_line += 1;
        self.line.push_back((place, run));
        place
    }

    fn is_in_line(&self, place: u64) -> bool {
        self.line.iter().any(|(other, _)| *other == place)
    }

    /// The run that still stands there.
    fn leave_line(&mut self, place: u64) -> Option<PendingRun> {
        let index = self.line.iter().position(|(other, _)| *other == place)?;
        self.line.remove(index).map(|(_, run)| run)
    }

    /// Queues runs that the gate has let through.
    fn retry(&mut self, runs: Vec<QueuedRun>, note: impl Fn(&mut Ticket, &mut PendingRun)) {
        self.retries.extend(runs.into_iter().map(|mut queued| {
            note(&mut queued.ticket, &mut queued.run);
            queued
        }));
    }

    /// Whether there is a run to send. The time of a run begins with its first attempt, so no more are
    /// begun while many have failed: Reflect is at fault then. So many, and those in the lanes, are in
    /// memory beyond the capacity.
    fn has_work(&self) -> bool {
        let begins = self.gate.len() + self.retries.len() < MAX_RETRYING;
        !self.retries.is_empty() || (begins && !self.waiting.is_empty())
    }

    fn take(&mut self, capacity: usize) -> Option<QueuedRun> {
        if !self.has_work() {
            return None;
        }
        if let Some(retry) = self.retries.pop_front() {
            return Some(retry);
        }
        let next = self.waiting.pop_front()?;
        self.in_memory -= usize::from(next.run.is_in_memory());
        while self.in_memory < capacity {
            let Some((_, run)) = self.line.pop_front() else {
                break;
            };
            self.accept(run);
        }
        Some(next)
    }

    fn take_or_close(&mut self, capacity: usize) -> Option<QueuedRun> {
        let next = self.take(capacity);
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
    }
}
