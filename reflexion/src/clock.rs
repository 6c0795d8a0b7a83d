use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

/// A future that is ready when a time has passed.
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Where a trial's timeout gets its time from.
///
/// The default is a thread of its own, started when the first timeout is set, so that a run works
/// under any executor. Give another to use your runtime's clock, or to stop time in a test.
pub trait Timer: Send + Sync + 'static {
    /// A future that is ready when `duration` has passed.
    fn sleep(&self, duration: Duration) -> Sleep;
}

impl<F: Fn(Duration) -> Sleep + Send + Sync + 'static> Timer for F {
    fn sleep(&self, duration: Duration) -> Sleep {
        self(duration)
    }
}

/// The default [`Timer`]: one thread for the whole process.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TimerThread;

impl Timer for TimerThread {
    fn sleep(&self, duration: Duration) -> Sleep {
        match Instant::now().checked_add(duration) {
            Some(deadline) => Box::pin(Alarm::set(deadline)),
            // Longer than the clock can count is for ever.
            None => Box::pin(std::future::pending()),
        }
    }
}

static ALARMS: Mutex<Alarms> = Mutex::new(Alarms {
    waiting: BTreeMap::new(),
    next: 0,
    running: false,
});
static CHANGED: Condvar = Condvar::new();

struct Alarms {
    /// By deadline; the number tells alarms of the same instant apart.
    waiting: BTreeMap<(Instant, u64), Arc<Bell>>,
    next: u64,
    running: bool,
}

/// How the thread tells a sleeper that its time has come.
#[derive(Default)]
struct Bell(Mutex<Ring>);

#[derive(Default)]
struct Ring {
    rung: bool,
    waker: Option<Waker>,
}

/// A place among the waiting; given up when dropped.
struct Alarm {
    key: (Instant, u64),
    bell: Arc<Bell>,
}

impl Alarm {
    fn set(deadline: Instant) -> Self {
        let bell = Arc::<Bell>::default();
        let mut alarms = lock(&ALARMS);
        let key = (deadline, alarms.next);
        alarms.next += 1;
        alarms.waiting.insert(key, bell.clone());
        if !alarms.running {
            let spawned = thread::Builder::new()
                .name("reflect-timer".to_owned())
                .spawn(ring_bells);
            alarms.running = spawned.is_ok();
            if let Err(error) = spawned {
                // The next timeout tries again.
                tracing::warn!(%error, "no thread for timeouts: this one will not fire");
            }
        }
        drop(alarms);
        CHANGED.notify_one();
        Self { key, bell }
    }
}

impl Future for Alarm {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut ring = lock(&self.bell.0);
        if ring.rung {
            return Poll::Ready(());
        }
        ring.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        lock(&ALARMS).waiting.remove(&self.key);
    }
}

fn ring_bells() {
    let mut alarms = lock(&ALARMS);
    loop {
        let now = Instant::now();
        let Some((&key, _)) = alarms.waiting.first_key_value() else {
            alarms = CHANGED.wait(alarms).unwrap_or_else(PoisonError::into_inner);
            continue;
        };
        if key.0 > now {
            let waited = CHANGED.wait_timeout(alarms, key.0 - now);
            alarms = waited.unwrap_or_else(PoisonError::into_inner).0;
            continue;
        }
        let due = alarms.waiting.remove(&key);
        // A waker may run code of the executor's, so no lock is held over it.
        drop(alarms);
        if let Some(bell) = due {
            let waker = {
                let mut ring = lock(&bell.0);
                ring.rung = true;
                ring.waker.take()
            };
            if let Some(waker) = waker {
                waker.wake();
            }
        }
        alarms = lock(&ALARMS);
    }
}

/// What these locks guard is whole at every step, so a panic elsewhere does not spoil it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::task::Wake;

    use super::*;

    struct Unpark(thread::Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    /// The smallest executor there is: no runtime may be needed.
    fn block_on<T>(future: impl Future<Output = T>) -> T {
        let mut future = std::pin::pin!(future);
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        loop {
            if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                return value;
            }
            thread::park();
        }
    }

    #[test]
    fn alarms_ring_in_the_order_of_their_times_and_never_early() {
        let began = Instant::now();
        let late = TimerThread.sleep(Duration::from_millis(20));
        let early = TimerThread.sleep(Duration::from_millis(1));
        block_on(early);
        assert!(began.elapsed() >= Duration::from_millis(1));
        block_on(late);
        assert!(began.elapsed() >= Duration::from_millis(20));
    }

    #[test]
    fn a_dropped_alarm_leaves_nothing_behind() {
        let alarm = Alarm::set(Instant::now() + Duration::from_secs(3600));
        let key = alarm.key;
        assert!(lock(&ALARMS).waiting.contains_key(&key));
        drop(alarm);
        assert!(!lock(&ALARMS).waiting.contains_key(&key));
    }

    #[test]
    fn a_time_beyond_the_clock_never_comes() {
        let mut sleep = TimerThread.sleep(Duration::MAX);
        let poll = sleep.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(poll.is_pending());
    }
}
