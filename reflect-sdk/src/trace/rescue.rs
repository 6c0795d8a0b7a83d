//! Recording the runs of a thread that panics where a panic ends the process.
//!
//! Where panics abort, no destructor runs: the hook is the last that is heard of the run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, ThreadId};
use std::time::Duration;

use super::context::TraceContext;
use super::open::{Ending, Open, Options};
use super::panics::{Mark, Panic};
use crate::client::Handle;
use crate::outbox::registry;

/// The open runs of all clients that asked for this, by their ids.
static OPEN: Mutex<BTreeMap<String, Rescue>> = Mutex::new(BTreeMap::new());

struct Rescue {
    /// Where a guard was used last. A closure or a future is known by its scope instead.
    thread: Option<ThreadId>,
    client: Weak<Handle>,
    context: TraceContext,
    options: Options,
}

/// Remembers a run that has started.
pub(super) fn watch(open: &Open) {
    if open.client.core().settings.flush_on_panic {
        let run = Rescue {
            thread: None,
            client: Arc::downgrade(&open.client),
            context: open.context.clone(),
            options: open.options.clone(),
        };
        lock().insert(open.context.run_id().to_owned(), run);
    }
}

/// Makes a run that of a guard: whatever panics on this thread counts as a part of it.
pub(super) fn watch_thread(open: &Open) {
    if open.client.core().settings.flush_on_panic {
        if let Some(run) = lock().get_mut(open.context.run_id()) {
            run.thread = Some(thread::current().id());
        }
    }
}

/// Forgets a run that has ended.
pub(super) fn unwatch(open: &Open) {
    if open.client.core().settings.flush_on_panic {
        let ended = lock().remove(open.context.run_id());
        // Outside of the lock.
        drop(ended);
    }
}

/// Ends the runs that the panicking code belongs to, and sends what there is to send.
pub(super) fn panicked(panic: &Panic) {
    /// A process that is about to end must not be held up for long.
    const LIMIT: Duration = Duration::from_secs(2);

    for run in take_mine() {
        run.end(panic.clone());
    }
    drop(registry::flush(
        |settings| settings.flush_on_panic,
        |_| LIMIT,
    ));
}

fn take_mine() -> Vec<Rescue> {
    let mut open = lock();
    // Without such a client nothing more is looked at, as the thread may be at its very end.
    if open.is_empty() {
        return Vec::new();
    }
    let (here, current) = (thread::current().id(), TraceContext::current());
    let (mine, others) = std::mem::take(&mut *open)
        .into_iter()
        .partition(|(_, run)| run.thread == Some(here) || run.is_around(current.as_ref()));
    *open = others;
    drop(open);
    let mine: BTreeMap<String, Rescue> = mine;
    mine.into_values().collect()
}

impl Rescue {
    /// Whether the run is the current one, or the current one started within it.
    fn is_around(&self, current: Option<&TraceContext>) -> bool {
        let mut next = current;
        while let Some(context) = next {
            if context.run_id() == self.context.run_id() {
                return true;
            }
            next = context.parent();
        }
        false
    }

    fn end(self, why: Panic) {
        let Some(client) = self.client.upgrade() else {
            return;
        };
        let output = self.context.take_said().output;
        let open = Open {
            client,
            context: self.context,
            options: self.options,
            mark: Mark::now(),
        };
        open.end(Ending::Failed { why, output });
    }
}

fn lock() -> MutexGuard<'static, BTreeMap<String, Rescue>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}
