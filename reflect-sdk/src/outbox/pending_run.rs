//! One finished run and its delivery.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use reflect_types::{CreateTrace, IngestStatus, Request, TraceReceipt, Validate};
use tokio::time::{Instant, timeout};

use super::delivery::Delivery;
use super::gate::Failure;
use crate::core::{Cause, Core, Polling, far, wait_for};
use crate::error::{Error, Result};
use crate::spool::{Entry, Missing};

/// A finished run that is to be sent.
#[derive(Debug)]
pub(crate) struct PendingRun {
    core: Arc<Core>,
    content: Content,
    delivery: Arc<Delivery>,
    /// The time that a caller waits for the memory.
    until_learned: Option<Duration>,
    entry: Option<Entry>,
    /// The number of failed attempts.
    failed: u32,
    /// The end of its time, which begins with the first attempt.
    deadline: Option<Instant>,
}

#[derive(Debug)]
enum Content {
    Trace(Box<CreateTrace>),
    /// Read when the run is sent.
    OnDisk,
}

/// The state of a run after an attempt.
#[derive(Debug)]
pub(super) enum Progress {
    /// Reflect has taken it.
    Arrived,
    /// It never will arrive, or another process sends it.
    Settled,
    /// It is to be sent again.
    Failed(Box<PendingRun>, Failure),
    /// It was not sent within its time. If it is on disk it may be sent later.
    PutOff,
}

/// A run that can be sent again from its file.
#[derive(Debug)]
pub(super) struct SpooledRun {
    entry: Entry,
    delivery: Arc<Delivery>,
}

impl SpooledRun {
    pub(super) fn into_pending(self, core: Arc<Core>) -> PendingRun {
        PendingRun::on_disk(core, self.entry, self.delivery)
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
            content: Content::Trace(Box::new(trace)),
            delivery,
            until_learned,
            entry: None,
            failed: 0,
            deadline: None,
        }
    }

    /// A run that is read when it is sent.
    pub(super) fn on_disk(core: Arc<Core>, entry: Entry, delivery: Arc<Delivery>) -> Self {
        Self {
            core,
            content: Content::OnDisk,
            delivery,
            until_learned: None,
            entry: Some(entry),
            failed: 0,
            deadline: None,
        }
    }

    /// Writes the run to disk, where there is a spool. If that fails it is sent from memory alone.
    pub(super) fn keep_on_disk(&mut self) {
        if let (Some(spool), Content::Trace(trace)) = (&self.core.spool, &self.content) {
            match spool.keep(trace) {
                Ok(entry) => self.entry = Some(entry),
                Err(error) => self.core.notices.warn(
                    Cause::Spool,
                    format_args!("a run could not be written to the spool: {error}"),
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
        matches!(self.content, Content::Trace(_))
    }

    pub(super) fn is_on_disk(&self) -> bool {
        self.entry.is_some()
    }

    /// Frees the memory of a run on disk; `false` if it is not on disk.
    pub(super) fn leave_on_disk(&mut self) -> bool {
        if self.is_on_disk() {
            self.content = Content::OnDisk;
        }
        self.is_on_disk()
    }

    /// Takes a failed attempt back, because the next one comes before its time.
    pub(super) fn uncount_attempt(&mut self) {
        self.failed = self.failed.saturating_sub(1);
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

    pub(super) fn give_up(self, error: Error) {
        report_failure(&self.core, &self.delivery, error, self.is_on_disk());
    }

    /// Makes one attempt to send the run.
    pub(super) async fn deliver(mut self) -> Progress {
        let mut trace = match self.unpack() {
            Ok(trace) => trace,
            Err(progress) => return progress,
        };
        self.shorten(&mut trace);
        let trace = Request::from(trace);
        let outcome = self.send(&trace).await;
        let failure = outcome.as_ref().err().and_then(|error| self.again(error));
        let Request::CreateTrace(trace) = trace else {
            return Progress::Settled;
        };
        match (outcome, failure) {
            (Ok(receipt), _) => {
                self.clear_disk();
                self.core.counters.sent.add_one();
                let limit = self.until_learned.filter(|_| trace.review.is_some());
                settle(&self.core, self.delivery, receipt, limit);
                Progress::Arrived
            }
            (Err(_), Some(failure)) => {
                // What is on disk is read again rather than kept in memory.
                if !self.is_on_disk() {
                    self.content = Content::Trace(Box::new(trace));
                }
                Progress::Failed(Box::new(self), failure)
            }
            (Err(error), None) if error.is_refusal() => {
                self.reject(&trace, &error);
                report_failure(&self.core, &self.delivery, error, false);
                Progress::Settled
            }
            (Err(error), None) => {
                report_failure(&self.core, &self.delivery, error, self.is_on_disk());
                Progress::PutOff
            }
        }
    }

    /// Cuts what the server would refuse: most of a long run is worth more than none of it.
    fn shorten(&self, trace: &mut CreateTrace) {
        let cut = trace.shorten();
        if !cut.is_empty() {
            let what = format!(
                "a run is recorded without a part that is over its limit: {}",
                cut.join(", ")
            );
            self.core.notices.warn(Cause::Shortened, what);
        }
    }

    async fn send(&mut self, request: &Request) -> Result<TraceReceipt> {
        /// The time of the last attempt, if the deadline has passed already.
        const LAST: Duration = Duration::from_secs(10);

        let core = &self.core;
        let limit = core.settings.submit_deadline;
        let at_least = self.deadline.map_or(Duration::ZERO, |_| LAST);
        let deadline = *self.deadline.get_or_insert_with(|| far(limit));
        let left = deadline.saturating_duration_since(Instant::now());
        let sending = async {
            request.validate()?;
            let reply = core.transport()?.call(&core.project, request).await?;
            Core::expect::<CreateTrace>(reply)
        };
        let sent = timeout(left.max(at_least), sending).await;
        sent.unwrap_or_else(|_| Err(Error::timeout("the call to Reflect", limit)))
    }

    /// Counts a failed attempt. `None` if it was the last one.
    fn again(&mut self, error: &Error) -> Option<Failure> {
        let (now, policy) = (Instant::now(), self.core.settings.submit_retry);
        let deadline = self.deadline.filter(|deadline| now < *deadline)?;
        self.failed += 1;
        let again = error.is_retryable() && policy.allows(self.failed);
        tracing::debug!(target: "reflect", %error, failed = self.failed, again, "an attempt failed");
        again.then(|| Failure {
            at: now,
            asked: error.retry_after().unwrap_or_default(),
            deadline,
            policy,
        })
    }

    /// The trace, from memory or from disk.
    fn unpack(&mut self) -> Result<CreateTrace, Progress> {
        if let Content::Trace(trace) = mem::replace(&mut self.content, Content::OnDisk) {
            return Ok(*trace);
        }
        let (Some(spool), Some(entry)) = (&self.core.spool, &self.entry) else {
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
            Err(Missing::NotNow(why)) => {
                report_failure(&self.core, &self.delivery, Error::Worker(why), true);
                return Err(Progress::PutOff);
            }
        };
        self.delivery.settle(Err(Error::NotRecorded(why)));
        Err(Progress::Settled)
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

    fn reject(&self, trace: &CreateTrace, why: &Error) {
        if let (Some(spool), Some(entry)) = (&self.core.spool, &self.entry) {
            if let Err(error) = spool.reject(entry, trace, &why.to_string()) {
                let what = format!("a refused run could not be moved aside: {error}");
                self.core.notices.warn(Cause::Spool, what);
            }
        }
    }

    /// The run for a later attempt, if it is on disk.
    pub(super) fn spooled_twin(&self) -> Option<SpooledRun> {
        let delivery = Arc::clone(&self.delivery);
        let entry = self.entry.clone()?;
        Some(SpooledRun { entry, delivery })
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
    // Beside the lanes: a slow reflection must not delay the next runs.
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

/// Counts and reports a run that has not arrived. One on disk is not given up.
pub(super) fn report_failure(core: &Core, delivery: &Delivery, error: Error, on_disk: bool) {
    let cause = if error.is_refusal() {
        Cause::Refused
    } else {
        Cause::Submission
    };
    if on_disk {
        let what = format!("a run could not be sent yet and is kept on disk: {error}");
        core.notices.warn(cause, what);
    } else {
        core.counters.failed.add_one();
        let what = format!("a run was not recorded: {error}");
        core.notices.warn(cause, what);
    }
    // Last, so that a waiter finds it counted.
    delivery.settle(Err(error));
}
