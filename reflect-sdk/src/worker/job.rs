//! One finished run, and how it is sent.

use std::sync::Arc;
use std::time::Duration;

use reflect_types::{CreateTrace, IngestStatus, TraceReceipt, Validate};

use super::delivery::Delivery;
use super::notice::Cause;
use super::retry::{Repeat, with_retries};
use super::spool::Entry;
use crate::client::{Core, Patience, wait_for};
use crate::error::Error;

/// A run that is to be sent.
#[derive(Debug)]
pub(crate) struct Job {
    core: Arc<Core>,
    cargo: Cargo,
    idempotency_key: String,
    delivery: Arc<Delivery>,
    /// How long somebody waits for the memory.
    blocking: Option<Duration>,
    entry: Option<Entry>,
}

#[derive(Debug)]
enum Cargo {
    Trace(Box<CreateTrace>),
    /// It is read when its turn comes.
    OnDisk,
}

/// What became of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    Sent,
    Failed,
    /// Not sent, but still on disk.
    Kept,
}

impl Job {
    pub(crate) fn new(
        core: Arc<Core>,
        trace: CreateTrace,
        idempotency_key: String,
        delivery: Arc<Delivery>,
        blocking: Option<Duration>,
    ) -> Self {
        Self {
            core,
            cargo: Cargo::Trace(Box::new(trace)),
            idempotency_key,
            delivery,
            blocking,
            entry: None,
        }
    }

    pub(super) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    pub(super) fn delivery(&self) -> &Arc<Delivery> {
        &self.delivery
    }

    pub(super) fn is_in_memory(&self) -> bool {
        matches!(self.cargo, Cargo::Trace(_))
    }

    pub(super) fn is_on_disk(&self) -> bool {
        self.entry.is_some()
    }

    /// Frees the memory of a run that is on disk; tells whether it is.
    pub(super) fn leave_on_disk(&mut self) -> bool {
        if self.is_on_disk() {
            self.cargo = Cargo::OnDisk;
        }
        self.is_on_disk()
    }

    pub(super) fn drop_for_lack_of_room(self) {
        let queue = self.core.settings.queue;
        let why = format!(
            "{queue} finished runs wait to be sent already: is Reflect reachable? \
             `.spool(dir)` keeps them on disk, `.queue(…)` makes more room"
        );
        self.core.counters.dropped.add_one();
        self.core.notices.warn(Cause::QueueFull, &why);
        self.delivery.settle(Err(Error::NotRecorded(why)));
    }

    pub(super) fn give_up(self, error: Error) {
        Settled::failed(&self.core, &self.delivery, error).count(&self.core);
    }

    /// Sends the run, again and again if need be.
    pub(super) async fn deliver(self) -> Settled {
        let Cargo::Trace(trace) = self.cargo else {
            return Settled::Kept;
        };
        let settings = &self.core.settings;
        let sent = match trace.validate() {
            Err(invalid) => Err(invalid.into()),
            Ok(()) => {
                let (policy, limit) = (settings.submit_retry, settings.submit_deadline);
                with_retries(policy, limit, Repeat::Freely, || {
                    let (project, key) = (&self.core.project, &self.idempotency_key);
                    self.core.transport().create_trace(project, &trace, key)
                })
                .await
            }
        };
        match sent {
            Ok(receipt) => {
                let limit = self.blocking.filter(|_| trace.review.is_some());
                arrived(&self.core, self.delivery, receipt, limit);
                Settled::Sent
            }
            Err(error) => Settled::failed(&self.core, &self.delivery, error),
        }
    }
}

/// Tells whoever waits, once the memory exists if that is what is waited for.
fn arrived(
    core: &Arc<Core>,
    delivery: Arc<Delivery>,
    receipt: TraceReceipt,
    wait: Option<Duration>,
) {
    let Some(limit) = wait.filter(|_| receipt.ingest_status != IngestStatus::Completed) else {
        delivery.settle(Ok(receipt));
        return;
    };
    delivery.stored(&receipt.trace_id);
    let core = Arc::clone(core);
    // Beside the lanes: a slow reflection must not hold up the runs behind it.
    tokio::spawn(async move {
        let trace = wait_for(&core, &receipt.trace_id, true, Patience::eager(limit)).await;
        delivery.settle(trace.map(|trace| TraceReceipt {
            trace_id: trace.id,
            ingest_status: trace.ingest_status,
        }));
    });
}

impl Settled {
    pub(super) fn failed(core: &Core, delivery: &Delivery, error: Error) -> Self {
        let cause = if error.is_retryable() {
            Cause::Submission
        } else {
            Cause::Refused
        };
        core.notices
            .warn(cause, format_args!("a run was not recorded: {error}"));
        delivery.settle(Err(error));
        Self::Failed
    }

    pub(super) fn count(self, core: &Core) {
        match self {
            Self::Sent => core.counters.sent.add_one(),
            Self::Failed => core.counters.failed.add_one(),
            Self::Kept => {}
        }
    }
}
