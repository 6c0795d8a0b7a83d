//! One finished run, and how it is sent.

use std::mem;
use std::sync::{Arc, Weak};
use std::time::Duration;

use reflect_types::{CreateTrace, IngestStatus, TraceReceipt, Validate};

use super::attempts::{Attempt, Attempts};
use super::delivery::Delivery;
use super::notice::Cause;
use super::spool::{Entry, Missing};
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
    attempts: Attempts,
}

#[derive(Debug)]
enum Cargo {
    Trace(Box<CreateTrace>),
    /// It is read when its turn comes.
    OnDisk,
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
            attempts: Attempts::default(),
        }
    }

    /// A run that a client before this one left on disk.
    pub(crate) fn left_over(core: Arc<Core>, entry: Entry) -> Self {
        Self {
            core,
            cargo: Cargo::OnDisk,
            idempotency_key: entry.idempotency_key().to_owned(),
            delivery: Arc::default(),
            blocking: None,
            entry: Some(entry),
            attempts: Attempts::default(),
        }
    }

    /// Writes the run to disk, where there is a spool. If that fails it is sent from memory alone.
    pub(crate) fn keep_on_disk(&mut self) {
        if let (Some(spool), Cargo::Trace(trace)) = (&self.core.spool, &self.cargo) {
            match spool.keep(trace, &self.idempotency_key) {
                Ok(entry) => self.entry = Some(entry),
                Err(error) => self.core.notices.warn(
                    Cause::Spool,
                    format_args!("a run is not kept on disk: {error}"),
                ),
            }
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
        failed(&self.core, &self.delivery, error, self.is_on_disk());
    }

    /// Sends the run. If it is to be sent again, it gives it back with how long it has to rest.
    pub(super) async fn deliver(mut self) -> Option<(Self, Duration)> {
        let trace = self.unpack()?;
        let outcome = match self.send(&trace).await {
            Attempt::Last(outcome) => outcome,
            Attempt::Rest(wait) => {
                // What is on disk is read again, rather than kept in memory for as long as it rests.
                if !self.is_on_disk() {
                    self.cargo = Cargo::Trace(Box::new(trace));
                }
                return Some((self, wait));
            }
        };
        match outcome {
            Ok(receipt) => {
                self.clear_disk();
                self.core.counters.sent.add_one();
                let limit = self.blocking.filter(|_| trace.review.is_some());
                arrived(&self.core, self.delivery, receipt, limit);
            }
            Err(error) if error.is_refusal() => {
                self.reject(&trace, &error);
                failed(&self.core, &self.delivery, error, false);
            }
            Err(error) => self.put_off(error),
        }
        None
    }

    async fn send(&mut self, trace: &CreateTrace) -> Attempt<TraceReceipt> {
        let (core, key) = (&self.core, &self.idempotency_key);
        let sending = async {
            trace.validate()?;
            core.transport()
                .create_trace(&core.project, trace, key)
                .await
        };
        let settings = &core.settings;
        let (policy, limit) = (settings.submit_retry, settings.submit_deadline);
        self.attempts.make(policy, limit, sending).await
    }

    /// The run itself, from memory or from disk; `None` where it is not to be had.
    fn unpack(&mut self) -> Option<CreateTrace> {
        if let Cargo::Trace(trace) = mem::replace(&mut self.cargo, Cargo::OnDisk) {
            return Some(*trace);
        }
        // What is on disk has both.
        let (spool, entry) = (self.core.spool.as_ref()?, self.entry.as_ref()?);
        let why = match spool.load(entry) {
            Ok(trace) => return Some(trace),
            Err(Missing::Gone) => "another process sends it".to_owned(),
            Err(Missing::Unreadable(why)) => {
                self.core.counters.failed.add_one();
                self.core.notices.warn(Cause::Unreadable, &why);
                why
            }
            Err(Missing::Newer(why)) => {
                self.core.notices.warn(Cause::Unreadable, &why);
                why
            }
            Err(Missing::NotNow(why)) => {
                failed(&self.core, &self.delivery, Error::Worker(why), true);
                self.again().try_later();
                return None;
            }
        };
        self.delivery.settle(Err(Error::NotRecorded(why)));
        None
    }

    /// The run has arrived, so that its file is of no use any more.
    fn clear_disk(&self) {
        if let (Some(spool), Some(entry)) = (&self.core.spool, &self.entry) {
            if let Err(error) = spool.remove(entry) {
                let what = format!(
                    "a run that was sent cannot be removed from the spool, and will be sent again \
                     (it is stored once all the same): {error}"
                );
                self.core.notices.warn(Cause::Spool, what);
            }
        }
    }

    fn reject(&self, trace: &CreateTrace, why: &Error) {
        if let (Some(spool), Some(entry)) = (&self.core.spool, &self.entry) {
            if let Err(error) = spool.reject(entry, trace, &why.to_string()) {
                let what = format!("a refused run cannot be put aside: {error}");
                self.core.notices.warn(Cause::Spool, what);
            }
        }
    }

    /// Gives up for now.
    fn put_off(self, error: Error) {
        let later = self.again();
        failed(&self.core, &self.delivery, error, self.is_on_disk());
        later.try_later();
    }

    /// What is needed to try once more, if this fails in whatever way.
    pub(super) fn again(&self) -> Again {
        Again {
            core: Arc::downgrade(&self.core),
            delivery: Arc::clone(&self.delivery),
            entry: self.entry.clone(),
        }
    }
}

/// A run that was not sent. What is on disk is tried again later, by this client or the next.
pub(super) struct Again {
    /// A client that is gone by then leaves it to the next one.
    core: Weak<Core>,
    delivery: Arc<Delivery>,
    entry: Option<Entry>,
}

impl Again {
    pub(super) fn try_later(self) {
        /// Long enough not to be a nuisance, short enough to be soon after an outage.
        const LATER: Duration = Duration::from_secs(60);

        let Some(entry) = self.entry else { return };
        tokio::spawn(async move {
            tokio::time::sleep(LATER).await;
            if let Some(core) = self.core.upgrade() {
                let job = Job {
                    delivery: self.delivery,
                    ..Job::left_over(Arc::clone(&core), entry)
                };
                core.outbox().submit(&core, job);
            }
        });
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
        if let Err(error) = &trace {
            core.counters.not_learned.add_one();
            let what = format!("a run is stored, but was waited for in vain: {error}");
            core.notices.warn(Cause::Learning, what);
        }
        delivery.settle(trace.map(|trace| TraceReceipt {
            trace_id: trace.id,
            ingest_status: trace.ingest_status,
        }));
    });
}

/// Counts and tells that a run has not arrived. One that is on disk is not given up.
pub(super) fn failed(core: &Core, delivery: &Delivery, error: Error, on_disk: bool) {
    let cause = if error.is_refusal() {
        Cause::Refused
    } else {
        Cause::Submission
    };
    if on_disk {
        let what = format!("a run could not be sent yet, and is kept on disk: {error}");
        core.notices.warn(cause, what);
    } else {
        core.counters.failed.add_one();
        let what = format!("a run was not recorded: {error}");
        core.notices.warn(cause, what);
    }
    // Last, so that whoever waits finds it counted.
    delivery.settle(Err(error));
}
