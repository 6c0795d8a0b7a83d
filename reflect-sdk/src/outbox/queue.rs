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
use super::{ALONE, MAX_RETRYING, TOGETHER, TOGETHER_BYTES};
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
    /// A run was settled, or there is room for another.
    changed: Notify,
    /// There is a run to prepare.
    arrived: Notify,
    /// There is a run to send, or a failure whose time has to be kept.
    work: Notify,
}

/// The result of a submission.
#[derive(Debug)]
pub(super) enum Submission {
    /// The run is queued, and what empties the queue runs.
    Accepted,
    /// The run is queued, and the caller has to start what empties the queue.
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

/// The queue's record of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticket {
    number: u64,
    on_disk: bool,
    /// Whether the success of another run has let it through the gate.
    after_success: bool,
}

/// Runs that are sent at the same time.
#[derive(Debug, Default)]
pub(super) struct Group {
    pub(super) runs: Vec<QueuedRun>,
    /// Whether they may travel together; one that has failed before goes alone, as the fault may be its own.
    pub(super) together: bool,
}

#[derive(Debug, Default)]
struct State {
    /// Runs that are not prepared.
    arrived: VecDeque<QueuedRun>,
    waiting: VecDeque<QueuedRun>,
    /// Runs that have failed.
    gate: Gate<QueuedRun>,
    /// Runs that the gate has let through.
    retries: VecDeque<QueuedRun>,
    /// Whether the next group is of runs that have failed.
    is_their_turn: bool,
    /// Whether a group is being sent, and a caller waits for it who came since.
    is_sending: bool,
    is_awaited: bool,
    /// The number of runs that wait in memory. Only these count against the capacity: one run
    /// that Reflect cannot take must not cost the others their room.
    in_memory: usize,
    numbers: Numbers,
    not_on_disk: u64,
    /// Whether what empties the queue runs.
    is_served: bool,
}

impl Queue {
    pub(super) fn new(capacity: usize, policy: RetryPolicy) -> Self {
        Self {
            capacity,
            policy,
            state: Mutex::default(),
            changed: Notify::default(),
            arrived: Notify::default(),
            work: Notify::default(),
        }
    }

    /// Accepts a run. If the queue is full it waits for room, for at most `patience`.
    pub(super) fn submit(&self, run: PendingRun, patience: Duration) -> Submission {
        let mut run = match self.accept(run) {
            Submission::Refused(run) if !patience.is_zero() => Some(run),
            done => return done,
        };
        let accepted = block_on(
            async {
                loop {
                    let mut changed = pin!(self.changed.notified());
                    // Register before looking, so that no change in between is missed.
                    changed.as_mut().enable();
                    match run.take().map(|run| self.accept(run)) {
                        Some(Submission::Refused(refused)) => run = Some(refused),
                        Some(accepted) => return accepted,
                        None => return Submission::Accepted,
                    }
                    changed.await;
                }
            },
            patience,
        );
        match (accepted, run) {
            (None, Some(run)) => Submission::Refused(run),
            (accepted, _) => accepted.unwrap_or(Submission::Accepted),
        }
    }

    /// Accepts a run if there is room.
    fn accept(&self, run: PendingRun) -> Submission {
        let mut state = self.lock();
        let is_in_memory = run.is_in_memory();
        if is_in_memory && state.in_memory >= self.capacity {
            return Submission::Refused(run);
        }
        let ticket = Ticket {
            number: state.numbers.issue(),
            on_disk: run.is_on_disk(),
            after_success: false,
        };
        state.in_memory += usize::from(is_in_memory);
        state.not_on_disk += u64::from(!ticket.on_disk);
        let unprepared = run.is_unprepared();
        let queued = QueuedRun { ticket, run };
        if unprepared {
            state.arrived.push_back(queued);
        } else {
            state.waiting.push_back(queued);
        }
        let is_first = !mem::replace(&mut state.is_served, true);
        drop(state);
        if unprepared {
            self.arrived.notify_one();
        } else {
            self.work.notify_one();
        }
        if is_first {
            Submission::AcceptedFirst
        } else {
            Submission::Accepted
        }
    }

    /// Waits for runs to prepare. They count as waiting until they are prepared.
    pub(super) async fn arrivals(&self) -> Vec<QueuedRun> {
        loop {
            let arrived = self.lock().take_arrived();
            if !arrived.is_empty() {
                return arrived;
            }
            self.arrived.notified().await;
        }
    }

    /// Queues a prepared run to be sent; one that is kept back is settled.
    pub(super) fn prepared(&self, mut ticket: Ticket, run: Option<PendingRun>) {
        let mut state = self.lock();
        state.in_memory -= 1;
        if let Some(run) = run {
            if run.is_on_disk() && !mem::replace(&mut ticket.on_disk, true) {
                state.not_on_disk -= 1;
            }
            state.in_memory += usize::from(run.is_in_memory());
            state.waiting.push_back(QueuedRun { ticket, run });
        } else {
            state.settle(ticket);
        }
        drop(state);
        self.changed.notify_waiters();
        self.work.notify_one();
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
            let mut changed = pin!(self.changed.notified());
            // Register before looking, so that no change in between is missed.
            changed.as_mut().enable();
            if self.is_settled(mark) {
                return;
            }
            changed.await;
        }
    }

    /// The number of unsettled runs that are not on disk.
    pub(super) fn not_on_disk(&self) -> u64 {
        self.lock().not_on_disk
    }

    /// Waits until there may be something to send.
    pub(super) async fn work(&self) {
        self.work.notified().await;
    }

    /// The runs to send next, if there are any, and when there will be more to retry.
    pub(super) fn next(&self, now: Instant, together: bool) -> (Group, Option<Instant>) {
        let mut state = self.lock();
        let due = state.gate.open(now, self.policy);
        state.retry(due, |ticket, _| ticket.after_success = false);
        let group = state.take(together);
        state.is_sending = !group.runs.is_empty();
        let next = state.gate.due();
        drop(state);
        self.changed.notify_waiters();
        (group, next)
    }

    /// Settles a run.
    pub(super) fn settle(&self, ticket: Ticket) {
        self.lock().settle(ticket);
        self.changed.notify_waiters();
    }

    /// Puts runs that have failed behind the gate, which opens if the server has taken, or judged, another one.
    pub(super) fn attempted(&self, failed: Vec<(QueuedRun, Failure)>, is_up: bool, now: Instant) {
        let mut state = self.lock();
        for (run, failure) in failed {
            let suspect = run.ticket.after_success;
            state.gate.close_behind(run, failure, suspect);
        }
        state.is_sending = false;
        if mem::take(&mut state.is_awaited) {
            state.open_gate(now, false);
        }
        if is_up {
            state.open_gate(now, true);
            state.gate.recover();
        }
    }

    /// Opens the gate for a caller who waits, also to what is being sent and may fail.
    pub(super) fn open_gate(&self, now: Instant) {
        let mut state = self.lock();
        state.is_awaited = state.is_sending;
        state.open_gate(now, false);
        drop(state);
        self.work.notify_one();
    }

    /// Takes all runs, because what empties the queue did not start. The next accepted run is the
    /// first again.
    pub(super) fn abandon(&self) -> Vec<QueuedRun> {
        let mut state = self.lock();
        state.is_served = false;
        state.in_memory = 0;
        let arrived = mem::take(&mut state.arrived);
        // None has been sent yet, so none has failed.
        let waiting = mem::take(&mut state.waiting);
        drop(state);
        self.changed.notify_waiters();
        arrived.into_iter().chain(waiting).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn take_arrived(&mut self) -> Vec<QueuedRun> {
        let count = self.arrived.len().min(TOGETHER);
        self.arrived.drain(..count).collect()
    }

    /// Queues runs that the gate has let through.
    fn retry(&mut self, runs: Vec<QueuedRun>, note: impl Fn(&mut Ticket, &mut PendingRun)) {
        self.retries.extend(runs.into_iter().map(|mut queued| {
            note(&mut queued.ticket, &mut queued.run);
            queued
        }));
    }

    fn open_gate(&mut self, now: Instant, after_success: bool) {
        let early = self.gate.open_early(now, after_success);
        self.retry(early, |ticket, run| {
            ticket.after_success = after_success;
            run.uncount_attempt();
        });
    }

    /// Runs that have failed, and others in turn with them.
    ///
    /// The time of a run begins with its first attempt, so no more are begun while many have failed: Reflect is at
    /// fault then. So many, and those that are sent, are in memory beyond the capacity.
    fn take(&mut self, together: bool) -> Group {
        let begins = self.gate.len() + self.retries.len() < MAX_RETRYING;
        let has_fresh = begins && !self.waiting.is_empty();
        let is_retry = !self.retries.is_empty() && (self.is_their_turn || !has_fresh);
        self.is_their_turn = !is_retry;
        if is_retry {
            let count = self.retries.len().min(ALONE);
            let runs = self.retries.drain(..count).collect();
            return Group {
                runs,
                together: false,
            };
        }
        let most = match (has_fresh, together) {
            (false, _) => 0,
            (true, true) => TOGETHER,
            (true, false) => ALONE,
        };
        let runs = self.take_fresh(most);
        Group { runs, together }
    }

    /// Takes up to so many runs that were not sent before.
    fn take_fresh(&mut self, count: usize) -> Vec<QueuedRun> {
        let (mut runs, mut bytes) = (Vec::new(), 0);
        while let (true, Some(next)) = (runs.len() < count, self.waiting.front()) {
            bytes += next.run.weight();
            if bytes > TOGETHER_BYTES && !runs.is_empty() {
                break;
            }
            self.in_memory -= usize::from(next.run.is_in_memory());
            runs.extend(self.waiting.pop_front());
        }
        runs
    }

    fn settle(&mut self, ticket: Ticket) {
        let is_new = self.numbers.settle(ticket.number);
        debug_assert!(is_new, "run {} is settled twice", ticket.number);
        self.not_on_disk -= u64::from(!ticket.on_disk);
    }
}
