//! The queue under thousands of interleavings of those who use it.
//!
//! The very same file is compiled a second time here, on locks that let `shuttle` decide who runs
//! next, with two lanes, and with a job that is nothing but its name.

#[expect(clippy::duplicate_mod, reason = "on other locks it is another module")]
#[path = "queue.rs"]
mod queue;

mod sync {
    pub(super) use std::sync::PoisonError;

    use shuttle::sync::atomic::{AtomicBool, Ordering};
    pub(super) use shuttle::sync::{Condvar, Mutex, MutexGuard};
    use tokio::sync::futures::Notified;

    /// That of tokio, which needs no runtime; but before each call another thread may run.
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

        /// Every access to an atomic of `shuttle` is a place to switch.
        fn let_others_run(&self) {
            self.others_run.load(Ordering::SeqCst);
        }
    }
}

mod job {
    /// Only what the queue asks of a job.
    #[derive(Debug)]
    pub(super) struct Job {
        pub(super) name: usize,
        pub(super) is_on_disk: bool,
        pub(super) is_in_memory: bool,
        /// How often it is still to fail.
        pub(super) faults: usize,
    }

    impl Job {
        pub(super) fn is_in_memory(&self) -> bool {
            self.is_in_memory
        }

        pub(super) fn is_on_disk(&self) -> bool {
            self.is_on_disk
        }

        pub(super) fn leave_on_disk(&mut self) -> bool {
            self.is_in_memory &= !self.is_on_disk;
            self.is_on_disk
        }
    }
}

const LANES: usize = 2;
const TRIED: usize = 1;

use std::time::Duration;

// Not explored: the test's own notes are no part of the protocol, and are never waited for.
use std::sync::{Arc, Mutex};

use super::numbers;
use job::Job;
use queue::{Handed, Numbered, Queue};
use shuttle::future::{block_on, spawn};
use shuttle::thread;

/// The locks of `shuttle` never time out: a wake-up that is lost is a deadlock, which it reports.
const EVER: Duration = Duration::from_secs(1);

const SCHEDULES: usize = 600;

#[derive(Default)]
struct World {
    queue: Queue,
    capacity: usize,
    /// How often a run fails.
    faults: Option<fn(usize) -> usize>,
    accepted: Mutex<Vec<usize>>,
    delivered: Mutex<Vec<usize>>,
}

impl World {
    fn new(capacity: usize) -> Arc<Self> {
        Arc::new(Self {
            capacity,
            ..Self::default()
        })
    }

    fn submit(self: &Arc<Self>, name: usize, is_on_disk: bool) {
        let job = Job {
            name,
            is_on_disk,
            is_in_memory: true,
            faults: self.faults.map_or(0, |faults| faults(name)),
        };
        let handed = self.queue.submit(job, self.capacity, EVER);
        self.accepted.lock().unwrap().push(name);
        match handed {
            Handed::Accepted => {}
            Handed::AcceptedFirst => drop(spawn(dispatch(Arc::clone(self)))),
            Handed::Refused(job) => panic!("{job:?} has waited for room, and there was none"),
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
            (self.queue.on_no_disk(), self.queue.mark()),
            (0, count as u64)
        );
    }
}

/// As in `outbox.rs`, but for what a lane does with a run.
async fn dispatch(world: Arc<World>) {
    loop {
        for first in world.queue.open_lanes() {
            drop(spawn(lane(Arc::clone(&world), first)));
        }
        world.queue.work().await;
    }
}

async fn lane(world: Arc<World>, first: Numbered) {
    let mut next = Some(first);
    while let Some(Numbered { ticket, mut job }) = next {
        shuttle::future::yield_now().await;
        if job.faults > 0 {
            job.faults -= 1;
            let mut run = Numbered { ticket, job };
            next = world.queue.rest_and_take(&mut run);
            drop(spawn(rest(Arc::clone(&world), run)));
            continue;
        }
        world.delivered.lock().unwrap().push(job.name);
        next = world.queue.settle_and_take(ticket);
    }
}

async fn rest(world: Arc<World>, run: Numbered) {
    shuttle::future::yield_now().await;
    world.queue.back(run);
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
        let world = Arc::new(World {
            capacity,
            faults: Some(faults),
            ..World::default()
        });
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
    queue.wait_blocking(EVER);
}

fn flush_async(queue: &Queue) {
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
fn whoever_waits_for_room_gets_it_and_runs_on_disk_need_none() {
    explore(1, |name| name % 3 == 0, flush_blocking);
}

#[test]
fn runs_that_fail_are_delivered_too_and_hold_up_nobody_for_good() {
    explore_with_faults(100, |_| false, |name| name % 3, flush_blocking);
    explore_with_faults(100, |_| false, |_| 1, flush_async);
    explore_with_faults(1, |name| name % 3 == 0, |name| 2 - name % 3, flush_blocking);
}

/// The thread cannot be started at first: those who wait are told, and the next run starts it.
#[test]
fn abandoned_runs_are_settled_for_whoever_waits() {
    let scenario = || {
        let world = World::new(100);
        let first = Job {
            name: 0,
            is_on_disk: false,
            is_in_memory: true,
            faults: 0,
        };
        let handed = world.queue.submit(first, 100, EVER);
        assert!(matches!(handed, Handed::AcceptedFirst));
        let mark = world.queue.mark();
        let waiting = [flush_blocking, flush_async].map(|flush| {
            let world = Arc::clone(&world);
            thread::spawn(move || flush(&world.queue))
        });
        for Numbered { ticket, job } in world.queue.abandon() {
            world.delivered.lock().unwrap().push(job.name);
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
