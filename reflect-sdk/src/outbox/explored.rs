//! The queue under thousands of interleavings.
//!
//! `queue.rs` is compiled a second time here, on locks that let `shuttle` decide which thread runs
//! next, with small groups and a run that is only a name.

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
        pub(super) is_unprepared: bool,
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

        pub(super) fn is_unprepared(&self) -> bool {
            self.is_unprepared
        }

        pub(super) fn weight(&self) -> usize {
            1 + self.name % 2
        }

        #[expect(clippy::unused_self, reason = "it is like that of a run")]
        pub(super) fn uncount_attempt(&mut self) {}
    }
}

const ALONE: usize = 2;
const TOGETHER: usize = 3;
const TOGETHER_BYTES: usize = 3;
const MAX_RETRYING: usize = 1;

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

/// What becomes of a run before it is sent, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Prepared {
    /// It needs no preparation.
    Already,
    InMemory,
    OnDisk,
    KeptBack,
}

struct World {
    queue: Queue,
    preparation: fn(usize) -> Prepared,
    /// The number of attempts of a run that fail.
    faults: fn(usize) -> usize,
    accepted: Mutex<Vec<usize>>,
    /// The runs that were sent, or kept back.
    delivered: Mutex<Vec<usize>>,
}

impl World {
    fn new(
        capacity: usize,
        preparation: fn(usize) -> Prepared,
        faults: fn(usize) -> usize,
    ) -> Arc<Self> {
        Arc::new(Self {
            queue: Queue::new(capacity, RetryPolicy::default()),
            preparation,
            faults,
            accepted: Mutex::default(),
            delivered: Mutex::default(),
        })
    }

    fn submit(self: &Arc<Self>, name: usize) {
        let run = PendingRun {
            name,
            is_on_disk: false,
            is_in_memory: true,
            is_unprepared: (self.preparation)(name) != Prepared::Already,
            faults: (self.faults)(name),
        };
        let submitted = self.queue.submit(run, EVER);
        self.accepted.lock().unwrap().push(name);
        match submitted {
            Submission::Accepted => {}
            Submission::AcceptedFirst => {
                drop(spawn(prepare(Arc::clone(self))));
                drop(spawn(send(Arc::clone(self))));
            }
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

/// As in `sending.rs`, except for the preparation.
async fn prepare(world: Arc<World>) {
    loop {
        for QueuedRun { ticket, mut run } in world.queue.arrivals().await {
            shuttle::future::yield_now().await;
            run.is_unprepared = false;
            let prepared = match (world.preparation)(run.name) {
                Prepared::KeptBack => {
                    world.delivered.lock().unwrap().push(run.name);
                    None
                }
                Prepared::OnDisk => {
                    (run.is_on_disk, run.is_in_memory) = (true, false);
                    Some(run)
                }
                Prepared::InMemory | Prepared::Already => Some(run),
            };
            world.queue.prepared(ticket, prepared);
        }
    }
}

/// As in `sending.rs`, except for the delivery and the time, which passes at once.
async fn send(world: Arc<World>) {
    let mut now = Instant::now();
    loop {
        let (group, due) = world.queue.next(now, true);
        if group.runs.is_empty() {
            match due {
                Some(due) => {
                    shuttle::future::yield_now().await;
                    now = due;
                }
                None => world.queue.work().await,
            }
            continue;
        }
        shuttle::future::yield_now().await;
        let most = if group.together { TOGETHER } else { ALONE + 1 };
        assert!(group.runs.len() <= most, "{group:?}");
        let (mut failed, mut is_up) = (Vec::new(), false);
        for QueuedRun { ticket, mut run } in group.runs {
            if run.faults == 0 {
                is_up = true;
                world.delivered.lock().unwrap().push(run.name);
                world.queue.settle(ticket);
                continue;
            }
            run.faults -= 1;
            let failure = Failure {
                at: now,
                asked: Duration::from_secs(run.name as u64 % 2),
                deadline: now + EVER * 60,
                policy: RetryPolicy::default(),
            };
            failed.push((QueuedRun { ticket, run }, failure));
        }
        world.queue.attempted(failed, is_up, now);
    }
}

/// Two threads submit three runs each while a third one flushes twice.
fn explore(
    capacity: usize,
    preparation: fn(usize) -> Prepared,
    faults: fn(usize) -> usize,
    flush: fn(&Queue),
) {
    let scenario = move || {
        let world = World::new(capacity, preparation, faults);
        let producers = [0..3, 3..6].map(|names| {
            let world = Arc::clone(&world);
            thread::spawn(move || names.for_each(|name| world.submit(name)))
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
    queue.open_gate(Instant::now());
    let _ = sync::block_on(queue.settled_up_to(queue.mark()), EVER);
}

fn flush_async(queue: &Queue) {
    queue.open_gate(Instant::now());
    block_on(queue.settled_up_to(queue.mark()));
}

#[test]
fn a_blocking_flush_misses_nothing_and_nothing_is_lost_or_settled_twice() {
    explore(100, |_| Prepared::Already, |_| 0, flush_blocking);
}

#[test]
fn an_async_flush_misses_nothing_and_nothing_is_lost_or_settled_twice() {
    explore(100, |_| Prepared::Already, |_| 0, flush_async);
}

#[test]
fn who_waits_for_room_gets_it() {
    explore(1, |_| Prepared::Already, |_| 0, flush_blocking);
}

#[test]
fn runs_are_prepared_before_they_are_sent_and_make_room() {
    const EACH: [Prepared; 3] = [Prepared::InMemory, Prepared::OnDisk, Prepared::KeptBack];
    for capacity in [1, 100] {
        explore(capacity, |name| EACH[name % 3], |_| 0, flush_blocking);
        explore(
            capacity,
            |name| EACH[name % 2],
            |name| name % 2,
            flush_async,
        );
    }
}

#[test]
fn runs_that_fail_are_delivered_and_block_no_others() {
    let already = |_| Prepared::Already;
    explore(100, already, |name| name % 3, flush_blocking);
    explore(100, already, |_| 1, flush_async);
    explore(1, already, |name| 2 - name % 3, flush_blocking);
}

/// The thread cannot be started at first: waiters return, and the next run starts it.
#[test]
fn abandoned_runs_are_settled_for_their_waiters() {
    let scenario = || {
        let world = World::new(100, |_| Prepared::Already, |_| 0);
        let run = PendingRun {
            name: 0,
            is_on_disk: false,
            is_in_memory: true,
            is_unprepared: false,
            faults: 0,
        };
        let submitted = world.queue.submit(run, EVER);
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
        world.submit(1);
        for thread in waiting {
            thread.join().unwrap();
        }
        flush_blocking(&world.queue);
        world.check_end(2);
    };
    shuttle::check_random(scenario, SCHEDULES);
    shuttle::check_pct(scenario, SCHEDULES, 3);
}
