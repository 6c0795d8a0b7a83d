//! The outcome of one run, for everyone who waits for it.

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use reflect_types::{TraceId, TraceReceipt};
use tokio::sync::Notify;
use uuid::Uuid;

use crate::core::{Core, block_on};
use crate::error::{Error, Result};

/// A cell that is settled once the run has arrived, or will not.
#[derive(Debug, Default)]
pub(crate) struct Delivery {
    run_id: Uuid,
    /// The client's, which a delivery does not keep alive.
    core: Weak<Core>,
    state: Mutex<State>,
    settled: Notify,
}

#[derive(Debug, Default)]
struct State {
    trace_id: Option<TraceId>,
    outcome: Option<Result<TraceReceipt>>,
}

impl Delivery {
    pub(super) fn new(run_id: Uuid, core: &Arc<Core>) -> Self {
        Self {
            run_id,
            core: Arc::downgrade(core),
            ..Self::default()
        }
    }

    pub(crate) fn run_id(&self) -> Uuid {
        self.run_id
    }

    /// The core of the client; `None` once that is gone.
    pub(crate) fn core(&self) -> Option<Arc<Core>> {
        self.core.upgrade()
    }

    /// Notes that the run is stored; its memory is still to come.
    pub(crate) fn stored(&self, id: &TraceId) {
        self.lock().trace_id = Some(id.clone());
    }

    /// Sets the outcome. A success replaces an earlier failure.
    pub(crate) fn settle(&self, outcome: Result<TraceReceipt>) {
        let mut state = self.lock();
        if let Ok(receipt) = &outcome {
            state.trace_id = Some(receipt.trace_id.clone());
        } else if state.outcome.is_some() {
            return;
        }
        state.outcome = Some(outcome);
        drop(state);
        self.settled.notify_waiters();
    }

    pub(crate) fn trace_id(&self) -> Option<TraceId> {
        self.lock().trace_id.clone()
    }

    pub(crate) fn outcome(&self) -> Option<Result<TraceReceipt>> {
        self.lock().outcome.clone()
    }

    pub(crate) async fn wait(&self) -> Result<TraceReceipt> {
        loop {
            let mut settled = pin!(self.settled.notified());
            // Register before looking, so that no change in between is missed.
            settled.as_mut().enable();
            if let Some(outcome) = self.outcome() {
                return outcome;
            }
            settled.await;
        }
    }

    pub(crate) fn wait_blocking(&self, limit: Duration) -> Result<TraceReceipt> {
        block_on(self.wait(), limit)
            .unwrap_or_else(|| Err(Error::timeout("the delivery of the run", limit)))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
