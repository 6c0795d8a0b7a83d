//! A claimed job: its lease, and how it ends.

use std::pin::pin;
use std::sync::Arc;

use crate::clock::later;
use crate::core::Core;
use crate::error::Result;
use crate::review::Setback;
use crate::store::{ClaimedJob, JobKey};
use crate::task::attempt;

/// A job that this process holds.
pub(super) struct LeasedJob {
    core: Arc<Core>,
    pub(super) owner: Arc<str>,
    key: JobKey,
    /// The model that a panic is blamed on.
    model: &'static str,
    /// The number of attempts, including this one.
    pub(super) attempts: u32,
}

impl LeasedJob {
    pub(super) fn new(
        core: &Arc<Core>,
        owner: &Arc<str>,
        job: &ClaimedJob,
        model: &'static str,
    ) -> Self {
        Self {
            core: Arc::clone(core),
            owner: Arc::clone(owner),
            key: job.key,
            model,
            attempts: job.attempts,
        }
    }

    /// Does work that may take long, and renews the lease meanwhile. `None` if the lease is lost,
    /// which ends the work.
    pub(super) async fn keep_during<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Option<Result<T>> {
        let core = &self.core;
        let mut attempt = pin!(attempt(self.model, work));
        loop {
            let renewal = later(core.now(), core.lease / 3);
            tokio::select! {
                ended = &mut attempt => return Some(ended),
                () = core.clock.sleep_until(renewal) => {
                    if !self.renew().await {
                        return None;
                    }
                }
            }
        }
    }

    /// Renews the lease; returns whether it is still held. A store that fails for a moment does not
    /// end the work.
    async fn renew(&self) -> bool {
        let lease = self.core.lease_for(&self.owner);
        match self.core.store.renew_job(&lease, self.key).await {
            Ok(held) => held,
            Err(error) => {
                tracing::warn!(job = %self.key, %error, "could not renew the lease of a job");
                true
            }
        }
    }

    /// Puts the job back for its next attempt, or gives it up.
    pub(super) async fn fail(&self, setback: Setback) {
        let failed = self.core.store.fail_job(&self.owner, self.key, setback);
        if let Err(error) = failed.await {
            tracing::warn!(job = %self.key, %error, "could not put a job back: its lease will expire");
        }
    }

    /// Removes the job.
    pub(super) async fn finish(&self) {
        let finished = self.core.store.finish_job(&self.owner, self.key);
        if let Err(error) = finished.await {
            tracing::warn!(job = %self.key, %error, "could not end a job: its lease will expire");
        }
    }
}
