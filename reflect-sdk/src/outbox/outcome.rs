//! The outcome of one run, for everyone who waits for it.

use std::pin::pin;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reflect_types::{TraceId, TraceReceipt};
use tokio::sync::Notify;

use crate::error::{Error, Result};

/// The outcome of a run. Handles wait for it async or blocking, with no runtime needed.
#[derive(Debug, Default)]
pub(crate) struct DeliveryOutcome {
    state: Mutex<State>,
    settled: Condvar,
    settled_async: Notify,
}

#[derive(Debug, Default)]
struct State {
    trace_id: Option<TraceId>,
    outcome: Option<Result<TraceReceipt>>,
    /// The number of waiting threads: without any there is no need for a wake-up.
    waiting: usize,
}

impl DeliveryOutcome {
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
        let waiting = state.waiting;
        drop(state);
        if waiting > 0 {
            self.settled.notify_all();
        }
        self.settled_async.notify_waiters();
    }

    pub(crate) fn trace_id(&self) -> Option<TraceId> {
        self.lock().trace_id.clone()
    }

    pub(crate) async fn wait(&self) -> Result<TraceReceipt> {
        loop {
            let mut settled = pin!(self.settled_async.notified());
            // Register before looking, so that no change in between is missed.
            settled.as_mut().enable();
            if let Some(outcome) = self.outcome() {
                return outcome;
            }
            settled.await;
        }
    }

    pub(crate) fn wait_blocking(&self, limit: Duration) -> Result<TraceReceipt> {
        let mut state = self.lock();
        state.waiting += 1;
        let open = |state: &mut State| state.outcome.is_none();
        let waited = self.settled.wait_timeout_while(state, limit, open);
        waited.unwrap_or_else(PoisonError::into_inner).0.waiting -= 1;
        self.outcome().unwrap_or_else(|| {
            Err(Error::Timeout {
                what: "the delivery of the run".to_owned(),
                after: limit,
            })
        })
    }

    pub(crate) fn outcome(&self) -> Option<Result<TraceReceipt>> {
        match self.lock().outcome.as_ref()? {
            Ok(receipt) => Some(Ok(receipt.clone())),
            Err(error) => Some(Err(error.duplicate())),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
