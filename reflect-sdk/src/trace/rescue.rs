//! Open runs that the panic hook ends, where a panic ends the process.
//!
//! Where panics abort, no destructor runs: the hook is the last code that can record a run.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use super::context::TraceContext;
use super::panic_hook::{self, Panic};
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

/// Adds the rescue to the panic hook.
pub(super) fn install() {
    panic_hook::set_listener(on_panic);
}

/// Registers an open run.
pub(super) fn watch(run_id: &str, end: impl FnOnce(Panic) + Send + 'static) {
    let rescue = Rescue {
        thread: None,
        end: Box::new(end),
    };
    lock().insert(run_id.to_owned(), rescue);
}

/// Ties a registered run to this thread: a panic on it ends the run.
pub(super) fn watch_thread(run_id: &str) {
    if let Some(rescue) = lock().get_mut(run_id) {
        rescue.thread = Some(thread::current().id());
    }
}

/// Forgets a run that has ended.
pub(super) fn unwatch(run_id: &str) {
    let ended = lock().remove(run_id);
    // Outside of the lock.
    drop(ended);
}

/// Ends the runs of the panicking code and flushes their clients.
fn on_panic(panic: &Panic) {
    /// A process that is about to end must not be held up for long.
    const LIMIT: Duration = Duration::from_secs(2);

    for rescue in take_affected() {
        (rescue.end)(panic.clone());
    }
    drop(registry::flush(
        |settings| settings.flush_on_panic,
        |_| LIMIT,
    ));
}

fn take_affected() -> Vec<Rescue> {
    let mut open = lock();
    // Checked first: thread-locals may be gone already when a thread is about to end.
    if open.is_empty() {
        return Vec::new();
    }
    let (here, current) = (thread::current().id(), TraceContext::current());
    let (affected, others): (BTreeMap<_, _>, _) =
        std::mem::take(&mut *open)
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
