//! The worker loop: claims due jobs, runs them, and drains them at a shutdown.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::task::JoinSet;

use super::lease::LeasedJob;
use crate::clock::later;
use crate::core::Core;
use crate::error::Result;
use crate::id::new_id;
use crate::store::{Claims, JobKind, Lease, Subject};

/// How long a shutdown waits for work in progress.
const GRACE: Duration = Duration::from_secs(10);

/// A kind of background work.
pub(super) trait Work: Send + Sync + 'static {
    const KIND: JobKind;
    /// How often to look for jobs that other processes queued.
    const POLL: Duration;
    /// The model that a panic is blamed on.
    const MODEL: &str;

    /// The number of jobs that run concurrently.
    fn concurrency(&self) -> usize;

    /// How long to wait for the next look.
    fn poll(&self) -> Duration {
        Self::POLL
    }

    /// Returns when a job was queued by this process.
    fn queued(&self) -> impl Future<Output = ()> + Send;

    /// Queues what is missing in the queue. Returns `Some` if no job may be claimed before that time.
    fn prepare(&self) -> impl Future<Output = Result<Option<Timestamp>>> + Send {
        std::future::ready(Ok(None))
    }

    /// Claims due jobs.
    fn claim(
        &self,
        core: &Core,
        lease: &Lease,
        limit: usize,
    ) -> impl Future<Output = Result<Claims>> + Send {
        async move {
            let now = core.now();
            core.store.claim_jobs(Self::KIND, now, lease, limit).await
        }
    }

    /// Runs a job and records its result: the worker only waits for the end.
    fn run(
        self: Arc<Self>,
        job: LeasedJob,
        subject: Subject,
    ) -> impl Future<Output = ()> + Send + 'static;
}

/// Runs jobs until the engine stops.
pub(super) async fn run<W: Work>(core: Arc<Core>, work: W) {
    let work = Arc::new(work);
    let worker = format!("{}/{}", core.worker, W::KIND.as_str());
    let mut stopping = core.stopping.subscribe();
    let mut running = JoinSet::new();
    while !*stopping.borrow() {
        let next_look = start_due(&core, &work, &worker, &mut running).await;
        let free = running.len() < work.concurrency();
        tokio::select! {
            _ = stopping.wait_for(|stop| *stop) => break,
            Some(_) = running.join_next() => {
                // One claim for all that ended, not one each.
                while running.try_join_next().is_some() {}
            }
            () = work.queued(), if free => {}
            () = core.clock.sleep_until(next_look), if free => {}
        }
    }
    let drained = async { while running.join_next().await.is_some() {} };
    tokio::select! {
        () = drained => {}
        () = grace_over(&core) => {}
    }
    running.shutdown().await;
    if let Err(error) = core.store.release_jobs(&worker).await {
        let kind = W::KIND.as_str();
        tracing::warn!(kind, %error, "could not hand back jobs: their leases will expire");
    }
}

/// Returns when the engine is stopping and its grace period is over.
pub(crate) async fn grace_over(core: &Core) {
    let mut stopping = core.stopping.subscribe();
    // The sender is in `core`, so the channel is open.
    let _ = stopping.wait_for(|stop| *stop).await;
    core.clock.sleep_until(later(core.now(), GRACE)).await;
}

/// Claims and starts as many jobs as may run; returns when to look for the next.
async fn start_due<W: Work>(
    core: &Arc<Core>,
    work: &Arc<W>,
    worker: &str,
    running: &mut JoinSet<()>,
) -> Timestamp {
    let free = work.concurrency().saturating_sub(running.len());
    // An owner of its own for each claim: an attempt that lost its job must not pass for a later
    // attempt at the same job by this worker.
    let owner: Arc<str> = format!("{worker}/{}", new_id()).into();
    let claims = claim(core, &**work, &owner, free).await;
    let poll = later(core.now(), work.poll());
    match claims {
        Ok(claims) => {
            for job in claims.jobs {
                let held = LeasedJob::new(core, &owner, &job, W::MODEL);
                running.spawn(Arc::clone(work).run(held, job.subject));
            }
            claims.next_due.map_or(poll, |due| due.min(poll))
        }
        Err(error) => {
            let kind = W::KIND.as_str();
            tracing::warn!(kind, %error, "could not look for jobs: trying again");
            poll
        }
    }
}

async fn claim<W: Work>(core: &Core, work: &W, owner: &str, limit: usize) -> Result<Claims> {
    if let Some(pause) = work.prepare().await? {
        return Ok(Claims {
            jobs: Vec::new(),
            next_due: Some(pause),
        });
    }
    work.claim(core, &core.lease_for(owner), limit).await
}
