//! Who takes a run, who settles it, and how both are waited for.
//!
//! It knows of its neighbours only what it imports from `super`, so that `explored.rs` can compile
//! this very file with locks that try out who may run when.

use std::collections::VecDeque;
use std::mem;
use std::pin::pin;
use std::time::Duration;

use super::job::Job;
use super::numbers::Numbers;
use super::sync::{Condvar, Mutex, MutexGuard, Notify, PoisonError};
use super::{LANES, TRIED};

/// The queue, and a record of what is done with it.
///
/// Every accepted run has a number. A flush remembers the next number and waits until all before it
/// are settled, so it needs no place in the queue, and cannot miss a run that was accepted before.
#[derive(Debug, Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    /// Something was settled, or there is room.
    changed: Condvar,
    changed_async: Notify,
    /// There is something to send.
    work: Notify,
}

/// What became of a run that was handed over.
#[derive(Debug)]
pub(super) enum Handed {
    /// It is in the queue, and somebody will send it.
    Accepted,
    /// It is in the queue, and nobody looks at the queue yet: the caller has to see to that.
    AcceptedFirst,
    /// There is no room.
    Refused(Job),
}

/// A run that was accepted.
#[derive(Debug)]
pub(super) struct Numbered {
    pub(super) ticket: Ticket,
    pub(super) job: Job,
}

/// What the queue knows of a run that is in a lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticket {
    number: u64,
    on_disk: bool,
    /// Whether it has failed before.
    tried: bool,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Numbered>,
    /// Those that have rested, and are to be tried again.
    rested: VecDeque<Numbered>,
    /// How many of those that wait for their first turn hold their run in memory. Only these count
    /// against the capacity: one run that Reflect cannot take must not cost the others their room.
    in_memory: usize,
    /// How many runs have failed and are not settled. When there are many of them it is Reflect that
    /// is at fault, and no more are begun: the time that a run has begins with its first attempt. So
    /// that many, and those in the lanes, are in memory beyond the capacity.
    tried: usize,
    /// How many lanes are busy.
    lanes: usize,
    numbers: Numbers,
    on_no_disk: u64,
    /// Whether the dispatcher runs, and whether it has been woken and not looked yet.
    dispatching: bool,
    woken: bool,
}

impl Queue {
    /// Takes a run. If the queue is full it waits for room, at most for `patience`.
    pub(super) fn submit(&self, mut job: Job, capacity: usize, patience: Duration) -> Handed {
        let full = |state: &State| state.in_memory >= capacity;
        let mut state = self.lock();
        if full(&state) && !job.leave_on_disk() {
            if !patience.is_zero() {
                state = self
                    .changed
                    .wait_timeout_while(state, patience, |state| full(state))
                    .unwrap_or_else(PoisonError::into_inner)
                    .0;
            }
            if full(&state) {
                return Handed::Refused(job);
            }
        }
        state.accept(job);
        let wake = state.wakes();
        let start = !mem::replace(&mut state.dispatching, true);
        drop(state);
        if start {
            return Handed::AcceptedFirst;
        }
        if wake {
            self.work.notify_one();
        }
        Handed::Accepted
    }

    /// The number that a flush has to wait for.
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
            // Listen first, look then: what is settled in between is not missed.
            changed.as_mut().enable();
            if self.is_settled(mark) {
                return;
            }
            changed.await;
        }
    }

    /// Waits until all runs so far are settled, at most for `limit`.
    pub(super) fn wait_blocking(&self, limit: Duration) {
        let state = self.lock();
        let mark = state.numbers.next();
        let pending = |state: &mut State| !state.numbers.are_settled(mark);
        drop(self.changed.wait_timeout_while(state, limit, pending));
    }

    /// How many runs are on their way without being kept on disk.
    pub(super) fn on_no_disk(&self) -> u64 {
        self.lock().on_no_disk
    }

    /// Waits until there may be something to send.
    pub(super) async fn work(&self) {
        self.work.notified().await;
    }

    /// The first runs of as many lanes as there is work for.
    pub(super) fn open_lanes(&self) -> Vec<Numbered> {
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
    pub(super) fn settle_and_take(&self, ticket: Ticket) -> Option<Numbered> {
        let mut state = self.lock();
        state.settle(ticket);
        let next = state.take_or_close();
        // There may be work for other lanes too, now that one run less has failed.
        let wake = ticket.tried && state.wakes();
        drop(state);
        self.tell();
        if wake {
            self.work.notify_one();
        }
        next
    }

    /// Lets a run rest, which then is not settled but holds up nobody, until it is handed
    /// [back](Self::back); takes the next one or closes the lane.
    pub(super) fn rest_and_take(&self, run: &mut Numbered) -> Option<Numbered> {
        let mut state = self.lock();
        state.tried += usize::from(!mem::replace(&mut run.ticket.tried, true));
        let next = state.take_or_close();
        drop(state);
        self.changed.notify_all();
        next
    }

    /// Takes a run that has rested.
    pub(super) fn back(&self, run: Numbered) {
        let mut state = self.lock();
        state.rested.push_back(run);
        let wake = state.wakes();
        drop(state);
        if wake {
            self.work.notify_one();
        }
    }

    /// Takes all runs that wait, because there is nobody to send them. The next run that is
    /// accepted is the first again.
    pub(super) fn abandon(&self) -> Vec<Numbered> {
        let mut state = self.lock();
        state.dispatching = false;
        state.woken = false;
        // Without anybody to send them none has failed yet.
        std::iter::from_fn(|| state.take()).collect()
    }

    /// Settles a run that belongs to no lane.
    pub(super) fn settle(&self, ticket: Ticket) {
        self.lock().settle(ticket);
        self.tell();
    }

    fn tell(&self) {
        self.changed.notify_all();
        self.changed_async.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn accept(&mut self, job: Job) {
        let ticket = Ticket {
            number: self.numbers.give(),
            on_disk: job.is_on_disk(),
            tried: false,
        };
        self.in_memory += usize::from(job.is_in_memory());
        self.on_no_disk += u64::from(!ticket.on_disk);
        self.waiting.push_back(Numbered { ticket, job });
    }

    fn take(&mut self) -> Option<Numbered> {
        if let Some(rested) = self.rested.pop_front() {
            return Some(rested);
        }
        if self.tried >= TRIED {
            return None;
        }
        let next = self.waiting.pop_front()?;
        self.in_memory -= usize::from(next.job.is_in_memory());
        Some(next)
    }

    fn take_or_close(&mut self) -> Option<Numbered> {
        let next = self.take();
        self.lanes -= usize::from(next.is_none());
        next
    }

    /// Whether the dispatcher has to be woken, because another lane could be opened.
    fn wakes(&mut self) -> bool {
        self.lanes < LANES && !mem::replace(&mut self.woken, true)
    }

    fn settle(&mut self, ticket: Ticket) {
        let is_new = self.numbers.settle(ticket.number);
        debug_assert!(is_new, "run {} is settled twice", ticket.number);
        self.on_no_disk -= u64::from(!ticket.on_disk);
        self.tried -= usize::from(ticket.tried);
    }
}
