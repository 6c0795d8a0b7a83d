//! One finished run and its delivery.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use reflect_types::{CreateTrace, IngestStatus, TraceReceipt, Validate};
use tokio::time::Instant;

use super::delivery::Delivery;
use super::gate::Failure;
use super::weight;
use crate::core::{BeforeSend, Cause, Core, Polling, far, wait_for};
use crate::error::{Error, Result};
use crate::spool::{Entry, Missing};

/// A finished run that is to be sent.
#[derive(Debug)]
pub(crate) struct PendingRun {
    core: Arc<Core>,
    /// `None` while it is on disk alone.
    trace: Option<Box<CreateTrace>>,
    delivery: Arc<Delivery>,
    /// The time that a caller waits for the memory.
    until_learned: Option<Duration>,
    entry: Option<Entry>,
    /// The number of failed attempts.
    failed: u32,
    /// The end of its time, which begins with the first attempt.
    deadline: Option<Instant>,
}

/// What has become of a run.
#[derive(Debug)]
pub(super) enum Progress {
    /// It has arrived, never will, or another process sends it.
    Settled,
    /// It is to be sent again.
    Failed(PendingRun, Failure),
    /// It was not sent within its time. If it is on disk it may be sent later.
    PutOff(Option<SpooledRun>),
}

/// A run that can be sent again from its file.
#[derive(Debug)]
pub(super) struct SpooledRun {
    entry: Entry,
    delivery: Arc<Delivery>,
}

impl SpooledRun {
    pub(super) fn into_pending(self, core: Arc<Core>) -> PendingRun {
        PendingRun {
            delivery: self.delivery,
            ..PendingRun::left_over(core, self.entry)
        }
    }
}

impl PendingRun {
    /// A run in memory. Its trace has an idempotency key.
    pub(crate) fn new(
        core: Arc<Core>,
        trace: CreateTrace,
        delivery: Arc<Delivery>,
        until_learned: Option<Duration>,
    ) -> Self {
        Self {
            core,
            trace: Some(Box::new(trace)),
            delivery,
            until_learned,
            entry: None,
            failed: 0,
            deadline: None,
        }
    }

    /// A run that an earlier client left on disk.
    pub(super) fn left_over(core: Arc<Core>, entry: Entry) -> Self {
        Self {
            core,
            trace: None,
            delivery: Arc::default(),
            until_learned: None,
            entry: Some(entry),
            failed: 0,
            deadline: None,
        }
    }

    pub(super) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    pub(super) fn is_in_memory(&self) -> bool {
        self.trace.is_some()
    }

    pub(super) fn is_on_disk(&self) -> bool {
        self.entry.is_some()
    }

    /// Whether it goes through `before_send`, or is written to disk, before it is sent.
    pub(super) fn is_unprepared(&self) -> bool {
        let core = &self.core;
        !self.is_on_disk() && (core.settings.before_send.is_some() || core.spool.is_some())
    }

    /// About how many bytes it sends.
    pub(super) fn weight(&self) -> usize {
        match (&self.trace, &self.entry) {
            (Some(trace), _) => weight::of(trace),
            (None, Some(entry)) => entry.size(),
            (None, None) => 0,
        }
    }

    /// Takes a failed attempt back, because the next one comes before its time.
    pub(super) fn uncount_attempt(&mut self) {
        self.failed = self.failed.saturating_sub(1);
    }

    /// Passes the run through `before_send` and writes it to disk, as the client is set; `None` if it is kept back.
    /// This blocks.
    pub(super) fn prepare(mut self) -> Option<Self> {
        if let Some(filter) = &self.core.settings.before_send {
            let filtered = self.trace.take().map(|trace| filtered(filter, *trace));
            match filtered {
                Some(Err(Panicked)) => {
                    let why = "`before_send` panicked, and the run may hold what was to be removed";
                    self.lose(Cause::BeforeSend, Error::NotRecorded(why.to_owned()));
                    return None;
                }
                Some(Ok(Some(trace))) => self.trace = Some(Box::new(trace)),
                Some(Ok(None)) | None => {
                    self.core.counters.withheld.add_one();
                    let why = "`before_send` kept it back".to_owned();
                    self.delivery.settle(Err(Error::NotRecorded(why)));
                    return None;
                }
            }
        }
        self.keep_on_disk();
        Some(self)
    }

    /// Moves the run to disk, where there is a spool. If that fails it is sent from memory alone.
    fn keep_on_disk(&mut self) {
        if let (Some(spool), Some(trace)) = (&self.core.spool, &self.trace) {
            match spool.keep(trace) {
                Ok(entry) => {
                    self.entry = Some(entry);
                    self.trace = None;
                }
                Err(error) => self.core.notices.warn(
                    Cause::Spool,
                    format_args!("a run could not be written to the spool: {error}"),
                ),
            }
        }
    }

    pub(super) fn drop_for_lack_of_room(self) {
        let queue = self.core.settings.queue;
        let why = format!(
            "{queue} finished runs are waiting already: is Reflect reachable? \
             `.spool(dir)` keeps them on disk, `.queue(…)` makes more room"
        );
        self.core.counters.dropped.add_one();
        self.core.notices.warn(Cause::QueueFull, &why);
        self.delivery.settle(Err(Error::NotRecorded(why)));
    }

    /// The trace to send, from memory or from disk, which blocks.
    pub(super) fn unpack(&mut self) -> Result<CreateTrace, Progress> {
        let mut trace = match self.trace.take() {
            Some(trace) => *trace,
            None => self.load()?,
        };
        // Most of a long run is worth more than none of it.
        let cut = trace.shorten();
        if !cut.is_empty() {
            let what = format!(
                "a run is recorded without a part that is over its limit: {}",
                cut.join(", ")
            );
            self.core.notices.warn(Cause::Shortened, what);
        }
        match trace.validate() {
            Ok(()) => Ok(trace),
            Err(invalid) => {
                self.refuse(&trace, invalid.into());
                Err(Progress::Settled)
            }
        }
    }

    fn load(&mut self) -> Result<CreateTrace, Progress> {
        let (Some(spool), Some(entry)) = (&self.core.spool, &self.entry) else {
            let nowhere = Error::Worker("the run is neither in memory nor on disk".to_owned());
            self.lose(Cause::Submission, nowhere);
            return Err(Progress::Settled);
        };
        let why = match spool.load(entry) {
            Ok(trace) => return Ok(trace),
            Err(Missing::Gone) => "another process sends it".to_owned(),
            Err(Missing::Unreadable(why)) => {
                self.core.counters.failed.add_one();
                self.core.notices.warn(Cause::Unreadable, &why);
                why
            }
            Err(Missing::NotNow(why)) => return Err(self.put_off(Error::Worker(why))),
        };
        self.delivery.settle(Err(Error::NotRecorded(why)));
        Err(Progress::Settled)
    }

    /// The time that the next attempt may take, which ends with the time of the run; the last one gets a little
    /// more.
    pub(super) fn begin_attempt(&mut self) -> Duration {
        /// The time of the last attempt, if the deadline has passed already.
        const LAST: Duration = Duration::from_secs(10);

        let at_least = self.deadline.map_or(Duration::ZERO, |_| LAST);
        let limit = self.core.settings.submit_deadline;
        let deadline = *self.deadline.get_or_insert_with(|| far(limit));
        let left = deadline.saturating_duration_since(Instant::now());
        left.max(at_least)
    }

    /// Ends an attempt to send the trace. This blocks, if the run is on disk.
    pub(super) fn end_attempt(
        mut self,
        trace: CreateTrace,
        outcome: Result<TraceReceipt>,
    ) -> Progress {
        let error = match outcome {
            Ok(receipt) => {
                self.clear_disk();
                self.core.counters.sent.add_one();
                let limit = self.until_learned.filter(|_| trace.review.is_some());
                settle(&self.core, self.delivery, receipt, limit);
                return Progress::Settled;
            }
            Err(error) if error.is_refusal() => {
                self.refuse(&trace, error);
                return Progress::Settled;
            }
            Err(error) => error,
        };
        match self.again(&error) {
            Some(failure) => {
                // What is on disk is read again rather than kept in memory.
                if !self.is_on_disk() {
                    self.trace = Some(Box::new(trace));
                }
                Progress::Failed(self, failure)
            }
            None => self.put_off(error),
        }
    }

    /// Counts a failed attempt. `None` if it was the last one.
    fn again(&mut self, error: &Error) -> Option<Failure> {
        let (now, policy) = (Instant::now(), self.core.settings.submit_retry);
        let deadline = self.deadline.filter(|deadline| now < *deadline)?;
        self.failed += 1;
        let again = error.may_pass() && policy.allows(self.failed);
        tracing::debug!(target: "reflect", %error, failed = self.failed, again, "an attempt failed");
        again.then(|| Failure {
            at: now,
            asked: error.retry_after().unwrap_or_default(),
            deadline,
            policy,
        })
    }

    /// Removes the file of a run that has arrived.
    fn clear_disk(&self) {
        if let (Some(spool), Some(entry)) = (&self.core.spool, &self.entry) {
            if let Err(error) = spool.remove(entry) {
                let what = format!(
                    "a run that was sent cannot be removed from the spool, and will be sent again \
                     (it is stored once): {error}"
                );
                self.core.notices.warn(Cause::Spool, what);
            }
        }
    }

    /// Gives up a run that is itself at fault.
    fn refuse(&self, trace: &CreateTrace, error: Error) {
        if let (Some(spool), Some(entry)) = (&self.core.spool, &self.entry) {
            if let Err(error) = spool.reject(entry, trace, &error.to_string()) {
                let what = format!("a refused run could not be moved aside: {error}");
                self.core.notices.warn(Cause::Spool, what);
            }
        }
        self.lose(Cause::Refused, error);
    }

    /// Gives up sending a run. One on disk is not lost.
    pub(super) fn put_off(&self, error: Error) -> Progress {
        let Some(entry) = self.entry.clone() else {
            self.lose(Cause::Submission, error);
            return Progress::PutOff(None);
        };
        let what = format!("a run could not be sent yet and is kept on disk: {error}");
        self.core.notices.warn(Cause::Submission, what);
        self.delivery.settle(Err(error));
        let delivery = Arc::clone(&self.delivery);
        Progress::PutOff(Some(SpooledRun { entry, delivery }))
    }

    fn lose(&self, cause: Cause, error: Error) {
        self.core.counters.failed.add_one();
        let what = match &error {
            Error::NotRecorded(_) => error.to_string(),
            error => format!("a run was not recorded: {error}"),
        };
        self.core.notices.warn(cause, what);
        // Last, so that a waiter finds it counted.
        self.delivery.settle(Err(error));
    }
}

struct Panicked;

/// What is left of a run, under the key that it had.
fn filtered(filter: &BeforeSend, trace: CreateTrace) -> Result<Option<CreateTrace>, Panicked> {
    let key = trace.idempotency_key.clone();
    let left = catch_unwind(AssertUnwindSafe(|| (filter.0)(trace)));
    match left {
        Ok(Some(trace)) => Ok(Some(CreateTrace {
            idempotency_key: key,
            ..trace
        })),
        Ok(None) => Ok(None),
        Err(payload) => {
            // Its destructor may panic too.
            mem::forget(payload);
            Err(Panicked)
        }
    }
}

/// Settles the delivery of a stored run, once the memory exists if a caller waits for it.
fn settle(
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
    // By itself: a slow reflection must not delay the next runs.
    tokio::spawn(async move {
        let trace = wait_for(&core, &receipt.trace_id, true, Polling::eager(limit)).await;
        if let Err(error) = &trace {
            core.counters.without_memory.add_one();
            let what = format!("a run is stored, but its memory is not available: {error}");
            core.notices.warn(Cause::Learning, what);
        }
        delivery.settle(trace.map(|trace| TraceReceipt {
            trace_id: trace.id,
            ingest_status: trace.ingest_status,
        }));
    });
}
