//! What becomes of one run, for everyone who waits for it.

use std::pin::pin;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reflect_types::{TraceId, TraceReceipt};
use tokio::sync::Notify;

use crate::error::{Error, Result};

/// Filled by the worker; read by handles, which may be async or block. Neither needs a runtime.
#[derive(Debug, Default)]
pub(crate) struct Delivery {
    state: Mutex<State>,
    settled: Condvar,
    settled_async: Notify,
}

#[derive(Debug, Default)]
struct State {
    trace_id: Option<TraceId>,
    outcome: Option<Result<TraceReceipt>>,
}

impl Delivery {
    /// The run is stored. Whoever waits for its memory waits on.
    pub(crate) fn stored(&self, id: &TraceId) {
        self.lock().trace_id = Some(id.clone());
    }

    /// All that was asked for has happened, or will not. A success corrects an earlier failure.
    pub(crate) fn settle(&self, outcome: Result<TraceReceipt>) {
        let mut state = self.lock();
        if let Ok(receipt) = &outcome {
            state.trace_id = Some(receipt.trace_id.clone());
        } else if state.outcome.is_some() {
            return;
        }
        state.outcome = Some(outcome);
        drop(state);
        self.settled.notify_all();
        self.settled_async.notify_waiters();
    }

    pub(crate) fn trace_id(&self) -> Option<TraceId> {
        self.lock().trace_id.clone()
    }

    pub(crate) async fn wait(&self) -> Result<TraceReceipt> {
        loop {
            let mut settled = pin!(self.settled_async.notified());
            // Listen first, look then: what happens in between is not missed.
            settled.as_mut().enable();
            if let Some(outcome) = self.outcome() {
                return outcome;
            }
            settled.await;
        }
    }

    pub(crate) fn wait_blocking(&self, limit: Duration) -> Result<TraceReceipt> {
        let waited = self
            .settled
            .wait_timeout_while(self.lock(), limit, |state| state.outcome.is_none());
        // The guard of a poisoned lock is as good as any: its owner only assigned fields.
        drop(waited);
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
