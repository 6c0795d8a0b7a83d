//! What empties the queue, on the I/O thread.

use std::future::Future;
use std::sync::{Arc, Weak};
use std::time::Duration;

use reflect_types::{BatchEntry, CreateTrace, CreateTraces, Operation, Request, TraceReceipt};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::pending_run::{Progress, SpooledRun};
use super::queue::{Group, Queue, QueuedRun, Ticket};
use super::{ALONE, Outbox};
use crate::core::{Cause, Core};
use crate::error::{Error, Result};

/// The pause after which a spooled run is sent again that could not be sent within its time.
const SPOOLED_RETRY: Duration = Duration::from_secs(60);

/// Prepares runs in the order in which they have ended, on a thread that may block: it delays no retrieval.
pub(super) async fn prepare(queue: Arc<Queue>) {
    loop {
        let arrived = queue.arrivals().await;
        let queue = Arc::clone(&queue);
        let preparing = spawn_blocking(move || {
            for QueuedRun { ticket, run } in arrived {
                queue.prepared(ticket, run.prepare());
            }
        });
        // It ends early only with the I/O thread.
        let _ = preparing.await;
    }
}

/// Sends one group of runs after the other.
pub(super) async fn send(queue: Arc<Queue>) {
    let mut sender = Sender::default();
    loop {
        let (group, due) = queue.next(Instant::now(), !sender.one_by_one);
        match (group.runs.is_empty(), due) {
            (false, _) => sender.send(&queue, group).await,
            // Whether there is work or the time has come, the queue knows.
            (true, Some(due)) => drop(timeout_at(due, queue.work()).await),
            (true, None) => queue.work().await,
        }
    }
}

#[derive(Debug, Default)]
struct Sender {
    /// Whether the server does not know runs that travel together, as the original does not.
    one_by_one: bool,
    /// The number of groups in a row of which no run was taken.
    failures: u32,
}

/// A run, and what of it is sent.
struct Unpacked {
    queued: QueuedRun,
    trace: CreateTrace,
}

type Sent = (Unpacked, Result<TraceReceipt>);

impl Sender {
    async fn send(&mut self, queue: &Arc<Queue>, group: Group) {
        let Some(core) = group.runs.first().map(|first| Arc::clone(first.run.core())) else {
            return;
        };
        let (runs, unsendable) = unpack(group.runs).await;
        for (ticket, progress) in unsendable {
            end(&core, queue, ticket, progress);
        }
        let sent = match runs.len() {
            0 => {
                queue.attempted(Vec::new(), false, Instant::now());
                return;
            }
            2.. if group.together => self.send_together(&core, runs).await,
            _ => send_each(&core, runs).await,
        };
        let is_up = self.listen(&core, &sent);
        let mut failed = Vec::new();
        for (ticket, progress) in end_attempts(sent).await {
            match progress {
                Progress::Failed(run, failure) => failed.push((QueuedRun { ticket, run }, failure)),
                ended => end(&core, queue, ticket, ended),
            }
        }
        queue.attempted(failed, is_up, Instant::now());
    }

    /// Sends runs in one request, and each in its own where the server cannot take or read that.
    async fn send_together(&mut self, core: &Arc<Core>, runs: Vec<Unpacked>) -> Vec<Sent> {
        let (mut queued, traces): (Vec<_>, Vec<_>) =
            runs.into_iter().map(|run| (run.queued, run.trace)).unzip();
        let limits = queued.iter_mut().map(|queued| queued.run.begin_attempt());
        let limit = limits.max().unwrap_or_default();
        let request = Arc::new(Request::from(CreateTraces { traces }));
        let sent = call::<CreateTraces>(core, &request, limit).await;
        let traces = match Arc::unwrap_or_clone(request) {
            Request::CreateTraces(batch) => batch.traces,
            _ => Vec::new(),
        };
        let runs = queued.into_iter().zip(traces);
        let runs: Vec<_> = runs
            .map(|(queued, trace)| Unpacked { queued, trace })
            .collect();
        match sent {
            Ok(entries) if entries.len() == runs.len() => runs
                .into_iter()
                .zip(entries.into_iter().map(outcome))
                .collect(),
            Err(error) if !is_for_one_by_one(&error) => {
                let failed = runs.into_iter().map(|run| (run, Err(error.clone())));
                failed.collect()
            }
            refused => {
                let sent = send_each(core, runs).await;
                // Where single runs are not understood either, the address or the project is wrong.
                let is_known =
                    |(_, outcome): &Sent| outcome.as_ref().err().is_none_or(is_understood);
                self.one_by_one |=
                    !refused.as_ref().err().is_some_and(is_understood) && sent.iter().any(is_known);
                sent
            }
        }
    }

    /// Tells retrieval, and people, how the server is. Returns whether it has taken, or judged, a run.
    fn listen(&mut self, core: &Core, sent: &[Sent]) -> bool {
        let judged = |(_, outcome): &Sent| outcome.as_ref().err().is_none_or(Error::is_refusal);
        if sent.iter().any(judged) {
            self.failures = 0;
            core.gate.heard();
            return true;
        }
        self.failures += 1;
        if let Some((_, Err(error))) = sent.first() {
            core.notices.note(error);
            // One failure may pass.
            if self.failures > 1 {
                let what = format!("finished runs wait to be sent: {error}");
                core.notices.warn(Cause::Outage, what);
                if error.is_unanswered() {
                    core.gate.shut(error);
                }
            }
        }
        false
    }
}

/// Whether a request with several runs is refused for a fault that a request with one may not have.
fn is_for_one_by_one(error: &Error) -> bool {
    !is_understood(error)
        || matches!(error.status(), Some(400 | 413 | 422))
        || matches!(error, Error::Worker(_))
}

/// Whether the server knows the path.
fn is_understood(error: &Error) -> bool {
    !matches!(error, Error::Decode { .. }) && !matches!(error.status(), Some(404 | 405))
}

fn outcome(entry: BatchEntry) -> Result<TraceReceipt> {
    match entry {
        BatchEntry::Receipt(receipt) => Ok(receipt),
        BatchEntry::Error(body) => Err(body.into()),
    }
}

/// Sends each run in a request of its own, some at the same time.
async fn send_each(core: &Arc<Core>, runs: Vec<Unpacked>) -> Vec<Sent> {
    let mut sent = Vec::with_capacity(runs.len());
    let mut runs = runs.into_iter().peekable();
    while runs.peek().is_some() {
        let begun = runs.by_ref().take(ALONE);
        let begun = begun.map(|Unpacked { mut queued, trace }| {
            let limit = queued.run.begin_attempt();
            let request = Arc::new(Request::from(trace));
            let outcome = call::<CreateTrace>(core, &request, limit);
            (queued, request, outcome)
        });
        for (queued, request, outcome) in begun.collect::<Vec<_>>() {
            let outcome = outcome.await;
            if let Request::CreateTrace(trace) = Arc::unwrap_or_clone(request) {
                sent.push((Unpacked { queued, trace }, outcome));
            }
        }
    }
    sent
}

/// Begins a request, which ends within the limit.
fn call<O: Operation + 'static>(
    core: &Arc<Core>,
    request: &Arc<Request>,
    limit: Duration,
) -> impl Future<Output = Result<O::Reply>> + use<O> {
    let (core, request) = (Arc::clone(core), Arc::clone(request));
    let calling = async move {
        let reply = core.transport()?.call(&core.project, &request);
        let reply = timeout(limit, reply).await;
        let reply = reply.unwrap_or_else(|_| Err(Error::timeout("the call to Reflect", limit)));
        Core::expect::<O>(reply?)
    };
    // A task of its own, so that a panic in a transport ends this request alone.
    let calling = tokio::spawn(calling);
    async {
        let panicked = |panic| Error::Worker(format!("sending the run failed: {panic}"));
        calling.await.map_err(panicked)?
    }
}

/// Reads the runs that are on disk.
async fn unpack(runs: Vec<QueuedRun>) -> (Vec<Unpacked>, Vec<(Ticket, Progress)>) {
    let touches_disk = runs.iter().any(|queued| queued.run.is_on_disk());
    let unpack = move || {
        let (mut unpacked, mut unsendable) = (Vec::with_capacity(runs.len()), Vec::new());
        for mut queued in runs {
            match queued.run.unpack() {
                Ok(trace) => unpacked.push(Unpacked { queued, trace }),
                Err(progress) => unsendable.push((queued.ticket, progress)),
            }
        }
        (unpacked, unsendable)
    };
    on_disk(touches_disk, unpack).await
}

/// Settles what was sent, and removes it from disk.
async fn end_attempts(sent: Vec<Sent>) -> Vec<(Ticket, Progress)> {
    let touches_disk = sent.iter().any(|(run, _)| run.queued.run.is_on_disk());
    let end = move || {
        let ended = sent
            .into_iter()
            .map(|(Unpacked { queued, trace }, outcome)| {
                (queued.ticket, queued.run.end_attempt(trace, outcome))
            });
        ended.collect()
    };
    on_disk(touches_disk, end).await
}

/// Does work that may touch the disk, where it may block.
async fn on_disk<T: Default + Send + 'static>(
    touches_disk: bool,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    if touches_disk {
        // It ends early only with the I/O thread.
        spawn_blocking(work).await.unwrap_or_default()
    } else {
        work()
    }
}

/// Settles a run, after which it may be sent again from its file.
fn end(core: &Arc<Core>, queue: &Arc<Queue>, ticket: Ticket, progress: Progress) {
    if let Progress::PutOff(Some(twin)) = progress {
        try_later(core, queue, twin);
    }
    queue.settle(ticket);
}

/// Sends a spooled run again after a while. If the client is gone by then, the next one sends it.
fn try_later(core: &Arc<Core>, queue: &Arc<Queue>, twin: SpooledRun) {
    let (core, queue): (Weak<Core>, _) = (Arc::downgrade(core), Arc::clone(queue));
    tokio::spawn(async move {
        sleep(SPOOLED_RETRY).await;
        if let Some(core) = core.upgrade() {
            let run = twin.into_pending(Arc::clone(&core));
            Outbox { core, queue }.submit(run);
        }
    });
}
