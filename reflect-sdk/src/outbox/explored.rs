//! The queue under thousands of interleavings.
//!
//! `queue.rs` is compiled a second time here, on locks that let `shuttle` decide which thread runs
//! next, with two lanes and a run that is only a name.

#[expect(clippy::duplicate_mod, reason = "on other locks it is another module")]
#[path = "queue.rs"]
mod queue;

mod sync {
    pub(super) use std::sync::PoisonError;

    use std::future::Future;
    use std::time::Duration;

    use shuttle::sync::atomic::{AtomicBool, Ordering};
    pub(super) use shuttle::sync::{Mutex, MutexGuard};
    use tokio::sync::futures::Notified;

    /// It never times out: a wake-up that is lost is a deadlock, which `shuttle` reports.
    #[expect(clippy::unnecessary_wraps, reason = "as the one that it stands for")]
    pub(super) fn block_on<F: Future>(future: F, _: Duration) -> Option<F::Output> {
        Some(shuttle::future::block_on(future))
    }

    /// Tokio's, which needs no runtime, with a switch of threads before each call.
    #[derive(Debug, Default)]
    pub(super) struct Notify {
        inner: tokio::sync::Notify,
        others_run: AtomicBool,
    }

    impl Notify {
        pub(super) fn notify_one(&self) {
            self.let_others_run();
            self.inner.notify_one();
        }

        pub(super) fn notify_waiters(&self) {
            self.let_others_run();
            self.inner.notify_waiters();
        }

        pub(super) fn notified(&self) -> Notified<'_> {
            self.let_others_run();
            self.inner.notified()
        }

        /// Every access to an atomic of `shuttle` may switch threads.
        fn let_others_run(&self) {
            self.others_run.load(Ordering::SeqCst);
        }
    }
}

mod pending_run {
    /// The part of a run that the queue uses.
    #[derive(Debug)]
    pub(super) struct PendingRun {
        pub(super) name: usize,
        pub(super) is_on_disk: bool,
        pub(super) is_in_memory: bool,
        /// The number of attempts that still fail.
        pub(super) faults: usize,
    }

    impl PendingRun {
        pub(super) fn is_in_memory(&self) -> bool {
            self.is_in_memory
        }

        pub(super) fn is_on_disk(&self) -> bool {
            self.is_on_disk
        }

        #[expect(clippy::unused_self, reason = "it is like that of a run")]
        pub(super) fn uncount_attempt(&mut self) {}

        pub(super) fn leave_on_disk(&mut self) -> bool {
            self.is_in_memory &= !self.is_on_disk;
            self.is_on_disk
        }
    }
}

const LANES: usize = 2;
const MAX_RETRYING: usize = 1;

use std::collections::VecDeque;
use std::time::Duration;

// Not explored: the test's own records are no part of the protocol.
use std::sync::{Arc, Mutex};

use super::gate::Failure;
use super::{gate, numbers};
use crate::core::RetryPolicy;
use pending_run::PendingRun;
use queue::{Queue, QueuedRun, Submission};
use shuttle::future::{block_on, spawn};
use shuttle::thread;
use tokio::time::Instant;

const EVER: Duration = Duration::from_secs(1);

const SCHEDULES: usize = 600;

struct World {
    queue: Queue,
    /// The number of attempts of a run that fail.
    faults: fn(usize) -> usize,
    accepted: Mutex<Vec<usize>>,
    delivered: Mutex<Vec<usize>>,
}

impl World {
    fn new(capacity: usize, faults: fn(usize) -> usize) -> Arc<Self> {
        Arc::new(Self {
            queue: Queue::new(capacity, RetryPolicy::default()),
            faults,
            accepted: Mutex::default(),
            delivered: Mutex::default(),
        })
    }

    fn run(&self, name: usize, is_on_disk: bool) -> PendingRun {
        PendingRun {
            name,
            is_on_disk,
            is_in_memory: true,
            faults: (self.faults)(name),
        }
    }

    fn submit(self: &Arc<Self>, name: usize, is_on_disk: bool) {
        let submitted = self.queue.submit(self.run(name, is_on_disk), EVER);
        self.accepted.lock().unwrap().push(name);
        match submitted {
            Submission::Accepted => {}
            Submission::AcceptedFirst => drop(spawn(dispatch(Arc::clone(self)))),
            Submission::Refused(run) => panic!("{run:?} waited for room and got none"),
        }
    }

    /// What was accepted before the flush has to be delivered after it.
    fn check_flush(&self, flush: impl FnOnce()) {
        let before = self.accepted.lock().unwrap().clone();
        flush();
        let delivered = self.delivered.lock().unwrap();
        let missed: Vec<_> = before.iter().filter(|n| !delivered.contains(n)).collect();
        assert!(missed.is_empty(), "the flush has missed {missed:?}");
    }

    /// When all is done, every run was delivered once and nothing is left.
    fn check_end(&self, count: usize) {
        let mut delivered = self.delivered.lock().unwrap().clone();
        delivered.sort_unstable();
        assert_eq!(delivered, (0..count).collect::<Vec<_>>());
        assert!(self.queue.is_idle());
        assert_eq!(
            (self.queue.not_on_disk(), self.queue.mark()),
            (0, count as u64)
        );
    }
}

/// As in `mod.rs`, except for the delivery and the time, which passes at once.
async fn dispatch(world: Arc<World>) {
    let mut now = Instant::now();
    loop {
        let (opened, due) = world.queue.open_lanes(now);
        for first in opened {
            drop(spawn(lane(Arc::clone(&world), first)));
        }
        match due {
            Some(due) => {
                shuttle::future::yield_now().await;
                now = due;
            }
            None => world.queue.work().await,
        }
    }
}

async fn lane(world: Arc<World>, first: QueuedRun) {
    let mut next = Some(first);
    while let Some(QueuedRun { ticket, mut run }) = next {
        shuttle::future::yield_now().await;
        if run.faults > 0 {
            run.faults -= 1;
            let at = Instant::now();
            let asked = Duration::from_secs(run.name as u64 % 2);
            let failure = Failure {
                at,
                asked,
                deadline: at + EVER * 60,
                policy: RetryPolicy::default(),
            };
            next = world
                .queue
                .fail_and_take(QueuedRun { ticket, run }, failure);
            continue;
        }
        world.delivered.lock().unwrap().push(run.name);
        world.queue.open_gate(Instant::now(), true);
        next = world.queue.settle_and_take(ticket);
    }
}

/// Two threads submit three runs each while a third one flushes twice.
fn explore(capacity: usize, on_disk: fn(usize) -> bool, flush: fn(&Queue)) {
    explore_with_faults(capacity, on_disk, |_| 0, flush);
}

fn explore_with_faults(
    capacity: usize,
    on_disk: fn(usize) -> bool,
    faults: fn(usize) -> usize,
    flush: fn(&Queue),
) {
    let scenario = move || {
        let world = World::new(capacity, faults);
        let producers = [0..3, 3..6].map(|names| {
            let world = Arc::clone(&world);
            thread::spawn(move || names.for_each(|name| world.submit(name, on_disk(name))))
        });
        for _ in 0..2 {
            world.check_flush(|| flush(&world.queue));
        }
        for producer in producers {
            producer.join().unwrap();
        }
        world.check_flush(|| flush(&world.queue));
        world.check_end(6);
    };
    shuttle::check_random(scenario, SCHEDULES);
    // Few switches at the worst places, rather than many anywhere.
    shuttle::check_pct(scenario, SCHEDULES, 3);
}

fn flush_blocking(queue: &Queue) {
    queue.open_gate(Instant::now(), false);
    let _ = sync::block_on(queue.settled_up_to(queue.mark()), EVER);
}

fn flush_async(queue: &Queue) {
    queue.open_gate(Instant::now(), false);
    block_on(queue.settled_up_to(queue.mark()));
}

#[test]
fn a_blocking_flush_misses_nothing_and_nothing_is_lost_or_settled_twice() {
    explore(100, |_| false, flush_blocking);
}

#[test]
fn an_async_flush_misses_nothing_and_nothing_is_lost_or_settled_twice() {
    explore(100, |_| false, flush_async);
}

#[test]
fn a_waiter_for_room_gets_it_and_runs_on_disk_need_none() {
    explore(1, |name| name % 3 == 0, flush_blocking);
}

#[test]
fn runs_that_fail_are_delivered_and_block_no_others() {
    explore_with_faults(100, |_| false, |name| name % 3, flush_blocking);
    explore_with_faults(100, |_| false, |_| 1, flush_async);
    explore_with_faults(1, |name| name % 3 == 0, |name| 2 - name % 3, flush_blocking);
}

#[test]
fn room_goes_to_the_run_that_has_waited_longest_and_newcomers_do_not_overtake() {
    let scenario = || {
        let world = World::new(1, |_| 0);
        let first = world.queue.submit(world.run(0, false), EVER);
        assert!(matches!(first, Submission::AcceptedFirst));
        let mut threads = Vec::new();
        let mut come = |name| {
            let world = Arc::clone(&world);
            threads.push(thread::spawn(move || world.submit(name, false)));
        };
        for name in 1..4 {
            come(name);
            while world.queue.in_line() < name {
                thread::yield_now();
            }
        }
        // There is room from now on, for as long as runs are taken.
        let mut opened = VecDeque::from(world.queue.open_lanes(Instant::now()).0);
        come(4);
        let mut order = Vec::new();
        while order.len() < 5 {
            let Some(QueuedRun { ticket, run }) = opened.pop_front() else {
                thread::yield_now();
                opened.extend(world.queue.open_lanes(Instant::now()).0);
                continue;
            };
            order.push(run.name);
            opened.extend(world.queue.settle_and_take(ticket));
        }
        assert_eq!(order, [0, 1, 2, 3, 4]);
        for thread in threads {
            thread.join().unwrap();
        }
    };
    shuttle::check_random(scenario, SCHEDULES);
    shuttle::check_pct(scenario, SCHEDULES, 3);
}

/// The thread cannot be started at first: waiters return, and the next run starts it.
#[test]
fn abandoned_runs_are_settled_for_their_waiters() {
    let scenario = || {
        let world = World::new(100, |_| 0);
        let submitted = world.queue.submit(world.run(0, false), EVER);
        assert!(matches!(submitted, Submission::AcceptedFirst));
        let mark = world.queue.mark();
        let waiting = [flush_blocking, flush_async].map(|flush| {
            let world = Arc::clone(&world);
            thread::spawn(move || flush(&world.queue))
        });
        for QueuedRun { ticket, run } in world.queue.abandon() {
            world.delivered.lock().unwrap().push(run.name);
            world.queue.settle(ticket);
        }
        assert!(world.queue.is_settled(mark));
        world.submit(1, false);
        for thread in waiting {
            thread.join().unwrap();
        }
        flush_blocking(&world.queue);
        world.check_end(2);
    };
    shuttle::check_random(scenario, SCHEDULES);
}
