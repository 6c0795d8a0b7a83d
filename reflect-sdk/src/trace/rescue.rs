//! Recording the runs of a thread that panics where a panic ends the process.
//!
//! Where panics abort, no destructor runs: the hook is the last that is heard of the run.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, ThreadId};
use std::time::Duration;

use super::context::TraceContext;
use super::open::{Ending, Open, Options};
use super::panics::{Mark, Panic};
use crate::client::{Handle, registry};

/// The open runs of all clients that asked for this.
static OPEN: Mutex<Vec<Rescue>> = Mutex::new(Vec::new());

struct Rescue {
    /// Where the run started, for a guard. A closure or a future is known by its scope instead.
    thread: Option<ThreadId>,
    client: Weak<Handle>,
    context: TraceContext,
    options: Options,
}

/// Remembers a run that has started.
pub(super) fn watch(open: &Open) {
    if open.client.core().settings.flush_on_panic {
        lock().push(Rescue {
            thread: None,
            client: Arc::downgrade(&open.client),
            context: open.context.clone(),
            options: open.options.clone(),
        });
    }
}

/// Makes a run that of a guard: whatever panics on this thread counts as a part of it.
pub(super) fn watch_thread(open: &Open) {
    if open.client.core().settings.flush_on_panic {
        let id = open.context.run_id();
        for run in lock().iter_mut().filter(|run| run.context.run_id() == id) {
            run.thread = Some(thread::current().id());
        }
    }
}

/// Forgets a run that has ended.
pub(super) fn unwatch(open: &Open) {
    if open.client.core().settings.flush_on_panic {
        lock().retain(|run| run.context.run_id() != open.context.run_id());
    }
}

/// Ends the runs that the panicking code belongs to, and sends what there is to send.
pub(super) fn panicked(panic: &Panic) {
    /// A process that is about to end must not be held up for long.
    const LIMIT: Duration = Duration::from_secs(2);

    for run in take_mine() {
        run.end(panic.clone());
    }
    let clients = registry::clients();
    let asked = clients.iter().filter(|core| core.settings.flush_on_panic);
    registry::flush(asked, LIMIT);
}

fn take_mine() -> Vec<Rescue> {
    let mut open = lock();
    let mut mine = Vec::new();
    // Without such a client nothing more is looked at, as the thread may be at its very end.
    if open.is_empty() {
        return mine;
    }
    let (here, current) = (thread::current().id(), TraceContext::current());
    for run in std::mem::take(&mut *open) {
        let is_mine = run.thread == Some(here) || run.is_around(current.as_ref());
        if is_mine { &mut mine } else { &mut *open }.push(run);
    }
    mine
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

fn lock() -> MutexGuard<'static, Vec<Rescue>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}
