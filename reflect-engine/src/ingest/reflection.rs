//! Reflections: a queued review becomes a memory.

use std::sync::Arc;
use std::time::Duration;

use reflect_types::{ProjectId, Trace, TraceId};
use tokio::task::JoinSet;

use super::learning::learn;
use super::setback::{MAX_ATTEMPTS, given_up, setback};
use super::worker::{Claimed, Work};
use crate::clock::later;
use crate::core::Core;
use crate::error::Result;
use crate::review::{Action, Basis, Decision, NewReview, Refusal};
use crate::store::{ClaimedJob, Lease};
use crate::task::model_panicked;

/// The work on queued reviews.
pub(super) struct ReflectionWork {
    core: Arc<Core>,
}

impl ReflectionWork {
    pub(super) fn new(core: &Arc<Core>) -> Self {
        Self {
            core: Arc::clone(core),
        }
    }
}

impl Work for ReflectionWork {
    type Job = ClaimedJob;

    const NAME: &'static str = "reflection";
    const POLL: Duration = Duration::from_secs(2);

    fn concurrency(&self) -> usize {
        self.core.concurrency
    }

    async fn queued(&self) {
        self.core.work.notified().await;
    }

    async fn claim(&self, owner: &str, limit: usize) -> Result<Claimed<ClaimedJob>> {
        let lease = self.lease(owner);
        let claims = self
            .core
            .store
            .claim_jobs(self.core.now(), &lease, limit)
            .await?;
        Ok(Claimed {
            jobs: claims.jobs,
            next_due: claims.next_due,
        })
    }

    async fn run(self: Arc<Self>, owner: Arc<str>, job: ClaimedJob) {
        let ClaimedJob {
            project,
            trace,
            review,
            attempts,
        } = job;
        let id = trace.id.clone();
        let result = if attempts > MAX_ATTEMPTS {
            Err(given_up())
        } else {
            self.learn(&owner, &project, trace, review).await
        };
        let error = match result {
            Ok(Ok(())) => return,
            Ok(Err(refusal)) => {
                tracing::debug!(trace = %id, ?refusal, "another worker has taken the review over");
                return;
            }
            Err(error) => error,
        };
        let setback = setback(&self.core, &error, attempts);
        tracing::warn!(trace = %id, attempts, next = ?setback.next, %error, "reflection failed");
        let store = &self.core.store;
        if let Err(error) = store.fail_job(&owner, &project, &id, setback).await {
            tracing::warn!(trace = %id, %error, "could not put a review back: its lease will expire");
        }
    }

    async fn release(&self, worker: &str) -> Result<()> {
        self.core.store.release_jobs(worker).await
    }
}

impl ReflectionWork {
    async fn learn(
        &self,
        owner: &str,
        project: &ProjectId,
        trace: Trace,
        review: NewReview,
    ) -> Result<Decision> {
        let core = &self.core;
        let id = trace.id.clone();
        // In a task, so that a panic ends only the attempt; in a set, so that it ends with this
        // future.
        let mut attempt = JoinSet::new();
        let context = Arc::clone(core);
        attempt.spawn(async move { learn(&context, &trace, review).await });
        let learned = loop {
            let renewal = later(core.now(), core.lease / 3);
            tokio::select! {
                Some(joined) = attempt.join_next() => break joined.map_err(model_panicked)??,
                () = core.clock.sleep_until(renewal) => {
                    if !self.renew(owner, project, &id).await {
                        return Ok(Err(Refusal::LeaseLost));
                    }
                }
            }
        };
        let basis = Basis::Job {
            owner: owner.to_owned(),
        };
        let action = Action::Learn { basis, learned };
        core.store.review(project, &id, action).await
    }

    /// Renews the lease; returns whether it is still held. A store that fails for a moment does not
    /// end the work.
    async fn renew(&self, owner: &str, project: &ProjectId, id: &TraceId) -> bool {
        let lease = self.lease(owner);
        match self.core.store.renew_job(&lease, project, id).await {
            Ok(held) => held,
            Err(error) => {
                tracing::warn!(trace = %id, %error, "could not renew the lease of a review");
                true
            }
        }
    }

    fn lease(&self, owner: &str) -> Lease {
        Lease {
            owner: owner.to_owned(),
            until: later(self.core.now(), self.core.lease),
        }
    }
}
