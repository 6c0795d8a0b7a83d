//! The panic that unwinds a thread, and the runs that it ends.
//!
//! A destructor only learns *that* its thread unwinds. A hook, chained before the installed one, notes
//! the message and the location of the last panic of each thread. Panics are numbered, so that a guard
//! can tell a panic in its lifetime from an earlier one. A hook that was replaced is installed again
//! by the next run.
//!
//! `resume_unwind` calls no hook. After a panic that was caught, it looks like that one, unless
//! something of a run was used on the thread in between.

use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

/// The number of panics so far, on all threads.
static PANICS: AtomicU64 = AtomicU64::new(0);

/// A panic, or an error that ends a run like one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Panic {
    pub(super) message: String,
    /// `src/agent.rs:7:9`
    pub(super) location: Option<String>,
}

impl Panic {
    /// The panic with this payload. Its location is known if it is the last panic of the thread.
    pub(super) fn caught(payload: &(dyn Any + Send), since: &Mark) -> Self {
        let message = message(payload);
        let noted = hook::noted_since(since.panics.load(Ordering::Relaxed));
        let location = noted
            .filter(|noted| noted.message == message)
            .and_then(|noted| noted.location);
        Self { message, location }
    }
}

/// A moment that separates earlier panics from later ones.
#[derive(Debug, Default)]
pub(super) struct Mark {
    panics: AtomicU64,
    unwinding: AtomicBool,
}

impl Mark {
    pub(super) fn now() -> Self {
        hook::install();
        forget_handled();
        Self {
            panics: AtomicU64::new(PANICS.load(Ordering::Relaxed)),
            unwinding: AtomicBool::new(thread::panicking()),
        }
    }

    /// Moves the mark to this moment. Code that runs normally proves that earlier panics were
    /// handled; within a destructor that a panic runs, only those that began there were.
    pub(super) fn renew(&self) {
        let unwinding = thread::panicking();
        if unwinding && !self.unwinding.load(Ordering::Relaxed) {
            return;
        }
        hook::install();
        forget_handled();
        self.panics
            .store(PANICS.load(Ordering::Relaxed), Ordering::Relaxed);
        self.unwinding.store(unwinding, Ordering::Relaxed);
    }

    /// The panic that began since the mark and unwinds this thread.
    pub(super) fn panic(&self) -> Option<Panic> {
        if !thread::panicking() {
            return None;
        }
        let noted = hook::noted_since(self.panics.load(Ordering::Relaxed));
        if noted.is_none() && self.unwinding.load(Ordering::Relaxed) {
            // Marked in a destructor, while an unrelated panic was passing.
            return None;
        }
        let unknown = || Panic {
            message: "panicked".to_owned(),
            location: None,
        };
        Some(noted.unwrap_or_else(unknown))
    }
}

/// Forgets the last panic of this thread, unless it is unwinding it.
pub(super) fn forget_handled() {
    if !thread::panicking() {
        hook::set_last(None);
    }
}

fn message(payload: &(dyn Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        "panicked with a value that is not a string".to_owned()
    }
}

#[cfg(not(feature = "panic-hook"))]
mod hook {
    pub(super) fn install() {}

    pub(super) fn noted_since(_: u64) -> Option<super::Panic> {
        None
    }

    pub(super) fn set_last(_: Option<(u64, super::Panic)>) {}
}

#[cfg(feature = "panic-hook")]
mod hook {
    use std::cell::RefCell;
    use std::panic::{self, PanicHookInfo};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Mutex, PoisonError};
    use std::thread;

    use super::{PANICS, Panic, message};

    /// Whether the hook exists: installed, or called by the one that replaced it.
    static EXISTS: AtomicBool = AtomicBool::new(false);

    /// A part of the hook. A `set_hook` that does not chain the hook drops it, and the next run
    /// installs another: there is one at most, so hooks do not pile up.
    struct Existence;

    impl Drop for Existence {
        fn drop(&mut self) {
            EXISTS.store(false, Ordering::Release);
        }
    }

    thread_local! {
        /// The last panic of this thread, with its number.
        static LAST: RefCell<Option<(u64, Panic)>> = const { RefCell::new(None) };
    }

    pub(super) fn install() {
        static INSTALLING: Mutex<()> = Mutex::new(());

        // The hook cannot be replaced while the thread unwinds; the next run installs it.
        if EXISTS.load(Ordering::Acquire) || thread::panicking() {
            return;
        }
        let _installing = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
        if EXISTS.swap(true, Ordering::AcqRel) {
            return;
        }
        let existence = Existence;
        let chained = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let _part = &existence;
            note(info);
            chained(info);
        }));
    }

    pub(super) fn noted_since(number: u64) -> Option<Panic> {
        last().and_then(|(since, panic)| (since > number).then_some(panic))
    }

    pub(super) fn last() -> Option<(u64, Panic)> {
        LAST.try_with(|last| last.try_borrow().ok()?.clone())
            .ok()
            .flatten()
    }

    pub(super) fn set_last(panic: Option<(u64, Panic)>) {
        // Fails while the thread ends.
        let _ = LAST.try_with(|last| {
            if let Ok(mut last) = last.try_borrow_mut() {
                *last = panic;
            }
        });
    }

    fn note(info: &PanicHookInfo<'_>) {
        let number = PANICS.fetch_add(1, Ordering::Relaxed) + 1;
        let panic = Panic {
            message: message(info.payload()),
            location: info.location().map(ToString::to_string),
        };
        super::rescue::end_affected(&panic);
        set_last(Some((number, panic)));
    }
}

/// Open runs that the hook ends, where a panic ends the process: where panics abort, no destructor runs,
/// and the hook is the last code that can record a run.
#[cfg(feature = "panic-hook")]
pub(super) mod rescue {
    use std::collections::BTreeMap;
    use std::sync::{Mutex, MutexGuard, PoisonError};
    use std::thread::{self, ThreadId};
    use std::time::{Duration, Instant};

    use super::super::context::TraceContext;
    use super::Panic;
    use crate::outbox::registry;

    /// The open runs of clients with `flush_on_panic`, by run ID.
    static OPEN: Mutex<BTreeMap<String, Rescue>> = Mutex::new(BTreeMap::new());

    struct Rescue {
        /// The thread that used the run's guard last. `None` for a closure or a future, which is found by
        /// its scope.
        thread: Option<ThreadId>,
        /// Records the run as failed.
        end: Box<dyn FnOnce(Panic) + Send>,
    }

    /// Registers an open run.
    pub(in super::super) fn watch(run_id: &str, end: impl FnOnce(Panic) + Send + 'static) {
        let rescue = Rescue {
            thread: None,
            end: Box::new(end),
        };
        lock().insert(run_id.to_owned(), rescue);
    }

    /// Ties a registered run to this thread: a panic on it ends the run.
    pub(in super::super) fn watch_thread(run_id: &str) {
        if let Some(rescue) = lock().get_mut(run_id) {
            rescue.thread = Some(thread::current().id());
        }
    }

    /// Forgets a run that has ended.
    pub(in super::super) fn unwatch(run_id: &str) {
        let ended = lock().remove(run_id);
        // Outside of the lock.
        drop(ended);
    }

    /// Ends the runs of the panicking code and flushes their clients.
    pub(super) fn end_affected(panic: &Panic) {
        /// A process that is about to end must not be held up for long.
        const LIMIT: Duration = Duration::from_secs(2);

        for rescue in take_affected() {
            (rescue.end)(panic.clone());
        }
        let start = Instant::now();
        for outbox in registry::of(|settings| settings.flush_on_panic) {
            outbox.wait_blocking(LIMIT.saturating_sub(start.elapsed()));
        }
    }

    fn take_affected() -> Vec<Rescue> {
        let mut open = lock();
        // Checked first: thread-locals may be gone already when a thread is about to end.
        if open.is_empty() {
            return Vec::new();
        }
        let (here, current) = (thread::current().id(), TraceContext::current());
        let (affected, others): (BTreeMap<_, _>, _) = std::mem::take(&mut *open)
            .into_iter()
            .partition(|(run_id, rescue)| {
                rescue.thread == Some(here) || is_within(current.as_ref(), run_id)
            });
        *open = others;
        drop(open);
        affected.into_values().collect()
    }

    /// Whether the context is that of the run, or of one that started within it.
    fn is_within(context: Option<&TraceContext>, run_id: &str) -> bool {
        std::iter::successors(context, |context| context.parent())
            .any(|context| context.run_id() == run_id)
    }

    fn lock() -> MutexGuard<'static, BTreeMap<String, Rescue>> {
        OPEN.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
