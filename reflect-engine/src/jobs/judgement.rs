//! Judgements: a model reviews a trace that has no review.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use reflect_types::{
    Backoff, IngestStatus, Interruption, ProjectId, ReviewMode, Trace, TraceId, Verdict,
};

use super::lease::LeasedJob;
use super::reviewing::{ReviewResult, give, new_review};
use super::setback::given_up;
use super::worker::Work;
use crate::clock::later;
use crate::core::Core;
use crate::error::{Error, Result};
use crate::model::{self, Judge, JudgeOutcome};
use crate::review::{Basis, NextAttempt, Setback};
use crate::store::{JobKind, Subject};

/// The number of traces judged concurrently.
const CONCURRENCY: usize = 4;

/// The number of attempts at a trace that fails while the model is available. Each later process
/// makes one more.
const MAX_ATTEMPTS: u32 = 4;

/// Delays of a trace that failed.
const RETRY: Backoff = Backoff {
    initial: Duration::from_secs(10),
    factor: 4,
    cap: Duration::from_secs(600),
    jitter: 0.5,
};
/// Pauses of a model that is unavailable.
const OUTAGE: Backoff = Backoff {
    initial: Duration::from_secs(10),
    factor: 4,
    cap: Duration::from_secs(60),
    jitter: 0.5,
};
/// The pause after an error in the model's settings, such as a wrong key.
const SETUP_PAUSE: Duration = Duration::from_secs(300);

/// The longest pause that a `Retry-After` can ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(3_600);

/// How often to look for traces without a job, such as those of processes without a judge.
const SCAN_INTERVAL: Duration = Duration::from_secs(60);

/// The work on traces that wait for a review.
pub(super) struct JudgementWork {
    core: Arc<Core>,
    judge: Arc<dyn Judge>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// When to look for traces without a job; `None` is now.
    scan_at: Option<Timestamp>,
    /// Whether this process has looked before. The first look retries what an earlier process gave
    /// up because of an error, whose cause, such as a setting, may be gone.
    scanned: bool,
    /// The end of the model's pause.
    paused_until: Option<Timestamp>,
    /// The number of pauses in a row.
    outages: u32,
    /// The number of judgements so far.
    judged: u64,
    /// That number at the last failure of each trace, to tell an outage from a trace that always fails.
    failed: HashMap<TraceId, u64>,
}

/// Why a trace was not judged.
enum Failure {
    /// The model or the store is unavailable, for this trace as for any other.
    Outage(Error),
    /// This trace cannot be judged.
    Trace(Error),
}

impl JudgementWork {
    pub(super) fn new(core: &Arc<Core>, judge: Arc<dyn Judge>) -> Self {
        Self {
            core: Arc::clone(core),
            judge,
            state: Mutex::default(),
        }
    }
}

impl Work for JudgementWork {
    const KIND: JobKind = JobKind::Judgement;
    const POLL: Duration = Duration::from_secs(2);
    const MODEL: &str = "the judge";

    fn concurrency(&self) -> usize {
        CONCURRENCY
    }

    async fn queued(&self) {
        tokio::select! {
            () = self.core.unjudged.notified() => {}
            () = self.core.imported.notified() => self.state().scan_at = None,
        }
    }

    async fn prepare(&self) -> Result<Option<Timestamp>> {
        let now = self.core.now();
        let (scan, restart) = {
            let state = self.state();
            if let Some(until) = state.paused_until.filter(|until| *until > now) {
                return Ok(Some(until));
            }
            (state.scan_at.is_none_or(|at| at <= now), !state.scanned)
        };
        if scan {
            self.core.store.queue_judgements(now, restart).await?;
            let mut state = self.state();
            state.scan_at = Some(later(now, SCAN_INTERVAL));
            state.scanned = true;
        }
        Ok(None)
    }

    async fn run(self: Arc<Self>, job: LeasedJob, subject: Subject) {
        let Subject::Judgement { project, trace } = subject else {
            return;
        };
        let id = trace.id.clone();
        if !is_unreviewed(&trace) {
            return job.finish().await;
        }
        let result = if job.attempts > MAX_ATTEMPTS {
            Err(Failure::Trace(given_up(
                MAX_ATTEMPTS,
                "Review the trace yourself",
            )))
        } else {
            let mut stopping = self.core.stopping.subscribe();
            let work = Arc::clone(&self).judge(project, trace);
            tokio::select! {
                // The job is handed back.
                _ = stopping.wait_for(|stop| *stop) => return,
                judged = job.keep_during(work) => match judged {
                    // Another worker has taken the job over.
                    None => return,
                    Some(judged) => judged.map_err(Failure::Trace).flatten(),
                },
            }
            .map_err(|failure| self.blame(&id, failure))
        };
        let outcome = match result {
            Ok(outcome) => {
                self.available(&id);
                match outcome {
                    JudgeOutcome::Unclear => {
                        tracing::info!(trace = %id, "the judge gave no verdict: the trace waits for a person");
                        // Without an error: the next process does not ask again.
                        job.fail(parked(String::new())).await;
                    }
                    // A review has ended the job, unless the trace was deleted.
                    _ => job.finish().await,
                }
                outcome
            }
            Err(Failure::Outage(error)) => {
                let until = self.pause(&error);
                tracing::warn!(trace = %id, %error, %until, "the judge is unavailable");
                job.fail(Setback {
                    error: error.to_string(),
                    next: NextAttempt::At(until),
                    counts: false,
                })
                .await;
                JudgeOutcome::Error
            }
            Err(Failure::Trace(error)) => {
                tracing::warn!(trace = %id, attempts = job.attempts, %error, "the judge failed");
                let error = error.to_string();
                job.fail(if job.attempts >= MAX_ATTEMPTS {
                    parked(error)
                } else {
                    let delay = RETRY.delay(job.attempts, fastrand::f64());
                    Setback {
                        error,
                        next: NextAttempt::At(later(self.core.now(), delay)),
                        counts: true,
                    }
                })
                .await;
                JudgeOutcome::Error
            }
        };
        self.judge.observe(outcome);
    }
}

impl JudgementWork {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the model and gives its review.
    async fn judge(
        self: Arc<Self>,
        project: ProjectId,
        trace: Trace,
    ) -> Result<JudgeOutcome, Failure> {
        let core = &self.core;
        if Interruption::of(&trace.metadata).is_some() {
            // What the run would have come to is not known.
            return Ok(JudgeOutcome::Unclear);
        }
        let asked_at = core.now();
        let review = match self.judge.judge(&trace).await {
            Ok(review) => review,
            Err(error) if error.retryable || model::is_setup(&error) => {
                return Err(Failure::Outage(error.into()));
            }
            Err(error) => return Err(Failure::Trace(error.into())),
        };
        let Some(review) = review else {
            return Ok(JudgeOutcome::Unclear);
        };
        let outcome = match review.result {
            Verdict::Pass => JudgeOutcome::Passed,
            _ => JudgeOutcome::Failed,
        };
        let id = trace.id.clone();
        let review = review.judged_by(self.judge.id());
        // The key that recorded the trace has caused its review.
        let key = trace.key_id.clone();
        let given = async {
            let mode = ReviewMode::Deferred;
            let mut review = review;
            // A judge cannot ask for less, so it gets what the project and the key allow.
            let limits = [
                core.store.settings(&project).await?.max_alpha,
                core.key_max_alpha(key.as_ref()).await?,
            ];
            let alpha = review.alpha.unwrap_or(core.alpha);
            review.alpha = Some(limits.into_iter().flatten().fold(alpha, f64::min));
            let mut review = new_review(core, &project, review, mode, key, None).await?;
            // An undo while the model was thinking covers its review.
            review.created_at = asked_at;
            give(core, &project, trace, review, Basis::Fresh).await
        };
        match given.await {
            Ok(ReviewResult::Learned) => Ok(outcome),
            Ok(ReviewResult::Deferred(error)) => {
                tracing::warn!(trace = %id, %error, "a review of the judge waits for its memory");
                Ok(outcome)
            }
            // A person reviewed or deleted the trace meanwhile.
            Ok(ReviewResult::Refused(_)) => Ok(JudgeOutcome::Overtaken),
            Err(error) if error.is_retryable() => Err(Failure::Outage(error)),
            Err(error) => Err(Failure::Trace(error)),
        }
    }

    /// A trace that fails again although the model has judged others meanwhile is at fault itself,
    /// unless the model's settings are.
    fn blame(&self, id: &TraceId, failure: Failure) -> Failure {
        /// Traces to remember; beyond them an outage is taken for one once more.
        const REMEMBERED: usize = 10_000;

        let error = match failure {
            Failure::Outage(Error::Model(error)) if !model::is_setup(&error) => error,
            failure => return failure,
        };
        let mut state = self.state();
        let judged = state.judged;
        if state.failed.len() >= REMEMBERED {
            state.failed.clear();
        }
        match state.failed.insert(id.clone(), judged) {
            Some(before) if before < judged => Failure::Trace(Error::Model(error)),
            _ => Failure::Outage(Error::Model(error)),
        }
    }

    /// Counts a judgement, and ends the count of outages.
    fn available(&self, id: &TraceId) {
        let mut state = self.state();
        state.judged += 1;
        state.failed.remove(id);
        if state
            .paused_until
            .is_none_or(|until| until <= self.core.now())
        {
            state.outages = 0;
        }
    }

    /// Pauses the model; returns the end of the pause.
    fn pause(&self, error: &Error) -> Timestamp {
        let now = self.core.now();
        let asked = match error {
            Error::Model(error) if model::is_setup(error) => SETUP_PAUSE,
            error => error.retry_after().unwrap_or_default().min(LONGEST_PAUSE),
        };
        let mut state = self.state();
        let paused = state.paused_until.filter(|until| *until > now);
        let until = paused.unwrap_or_else(|| {
            // Once for all traces that met the same outage.
            state.outages = state.outages.saturating_add(1);
            later(now, OUTAGE.delay(state.outages, fastrand::f64()))
        });
        let until = until.max(later(now, asked));
        state.paused_until = Some(until);
        until
    }
}

/// Whether the trace has no review, pending or withdrawn by a model.
fn is_unreviewed(trace: &Trace) -> bool {
    trace.review.is_none()
        && trace.withdrawn_verdict.is_none()
        && trace.ingest_status == IngestStatus::Completed
}

/// The end of a judgement that this process does not try again.
fn parked(error: String) -> Setback {
    Setback {
        error,
        next: NextAttempt::Never,
        counts: true,
    }
}
