//! Reflections: a queued review becomes a memory.

use std::sync::Arc;
use std::time::Duration;

use reflect_types::{ProjectId, Trace};

use super::learning::{LEARNING, learn};
use super::lease::LeasedJob;
use super::setback::{MAX_ATTEMPTS, given_up, setback};
use super::worker::Work;
use crate::core::Core;
use crate::error::Result;
use crate::review::{Action, Basis, Decision, NewReview, Refusal};
use crate::store::{JobKind, Subject};

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
    const KIND: JobKind = JobKind::Reflection;
    const POLL: Duration = Duration::from_secs(2);
    const MODEL: &str = LEARNING;

    fn concurrency(&self) -> usize {
        self.core.concurrency
    }

    async fn queued(&self) {
        self.core.work.notified().await;
    }

    async fn run(self: Arc<Self>, job: LeasedJob, subject: Subject) {
        let Subject::Reflection {
            project,
            trace,
            review,
            keep_personal_values,
        } = subject
        else {
            return;
        };
        let (id, attempts) = (trace.id.clone(), job.attempts);
        let result = if attempts > MAX_ATTEMPTS {
            Err(given_up(MAX_ATTEMPTS, "Retry it when the cause is fixed"))
        } else {
            let keeps_personal = keep_personal_values.unwrap_or(self.core.keep_personal_values);
            self.learn(&job, &project, trace, review, keeps_personal)
                .await
        };
        match result {
            Ok(Ok(())) => {}
            Ok(Err(refusal)) => {
                tracing::debug!(trace = %id, ?refusal, "another worker has taken the review over");
            }
            Err(error) => {
                let setback = setback(&self.core, &error, attempts);
                let next = setback.next;
                tracing::warn!(trace = %id, attempts, ?next, %error, "reflection failed");
                job.fail(setback).await;
            }
        }
    }
}

impl ReflectionWork {
    async fn learn(
        &self,
        job: &LeasedJob,
        project: &ProjectId,
        trace: Trace,
        review: NewReview,
        keeps_personal: bool,
    ) -> Result<Decision> {
        let (id, core) = (trace.id.clone(), Arc::clone(&self.core));
        let given = review.clone();
        let work = async move { learn(&core, trace, given, keeps_personal).await };
        let Some(learned) = job.keep_during(work).await else {
            return Ok(Err(Refusal::LeaseLost));
        };
        let basis = Basis::Job {
            owner: job.owner.to_string(),
        };
        let action = match learned?? {
            Some(learned) => Action::Learn { basis, learned },
            None => Action::Accept { basis, review },
        };
        self.core.store.review(project, &id, action).await
    }
}
