//! From a review to a memory: what a run teaches, and the queue that sees to it.
//!
//! A queued review is worked on under a lease, so that another worker takes over from one that
//! died, and is finished in one transaction that checks the lease: whatever happens in between, a
//! review makes one memory.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use reflect_types::{MemoryId, ProjectId, Trace, TraceId, feedback_without_note};
use tokio::task::JoinSet;

use crate::clock::later;
use crate::engine::core::{Core, ended};
use crate::engine::new_id;
use crate::error::{Error, Result};
use crate::model::{self, JudgedRun, Reflection};
use crate::store::{Applied, Basis, Job, Lease, Lesson, NewMemory, NewReview, Next, Setback};

/// How often the work on a review is tried before it is given up.
const MAX_ATTEMPTS: u32 = 5;
/// How long to wait after the first failure; four times as long after each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest wait that a model's server may ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(3_600);
/// How often to look for jobs that nobody told us of: those of other processes.
const POLL: Duration = Duration::from_secs(2);
/// How long to wait after the first failure that the settings are at fault for, such as a wrong key;
/// twice as long after each further one.
const SETUP_PAUSE: Duration = Duration::from_secs(300);
/// How long a shutdown waits for work in progress.
const GRACE: Duration = Duration::from_secs(10);

/// What a run teaches under this judgement.
pub(crate) async fn lesson(core: &Core, trace: &Trace, review: NewReview) -> Result<Lesson> {
    let reflection = if let Some(authored) = &review.reflection {
        Reflection::from(authored.clone())
    } else {
        let run = JudgedRun {
            task: &trace.task,
            messages: &trace.trajectory,
            final_response: &trace.final_response,
            verdict: review.verdict,
            // Who judged is no lesson.
            feedback: feedback_without_note(review.feedback.as_deref()),
            reference_context: trace.reference_context.as_deref(),
        };
        model::without_tags(core.reflector.reflect(&run).await?)
    };
    let memory = memory(core, &trace.task, reflection).await?;
    Ok(Lesson { review, memory })
}

/// The lesson of a review that brings its own reflection.
pub(crate) async fn authored(core: &Arc<Core>, task: &str, review: &NewReview) -> Result<Lesson> {
    let (core, task, review) = (Arc::clone(core), task.to_owned(), review.clone());
    crate::engine::core::contained(async move {
        let reflection = review.reflection.clone().map(Reflection::from);
        let memory = memory(&core, &task, reflection.unwrap_or_default()).await?;
        Ok::<_, Error>(Lesson { review, memory })
    })
    .await
}

async fn memory(core: &Core, task: &str, reflection: Reflection) -> Result<NewMemory> {
    let vectors = core.embed(&[task]).await?;
    Ok(NewMemory {
        id: MemoryId::new(new_id()),
        reflection,
        embedder: core.embedder.id().to_owned(),
        vector: vectors.into_iter().next().unwrap_or_default(),
        created_at: core.now(),
    })
}

/// Works on queued reviews until the engine stops.
pub(crate) async fn worker(core: Arc<Core>) {
    let name = new_id();
    let mut stopping = core.stopping.subscribe();
    let mut jobs = JoinSet::new();
    while !*stopping.borrow() {
        let next_look = claim(&core, &name, &mut jobs).await;
        let free = jobs.len() < core.concurrency;
        tokio::select! {
            _ = stopping.wait_for(|stop| *stop) => break,
            Some(_) = jobs.join_next() => {
                // One claim for all that ended, not one each.
                while jobs.try_join_next().is_some() {}
            }
            () = core.work.notified(), if free => {}
            () = core.clock.sleep_until(next_look), if free => {}
        }
    }
    let finished = async { while jobs.join_next().await.is_some() {} };
    tokio::select! {
        () = finished => {}
        () = grace_over(&core) => {}
    }
    jobs.abort_all();
    while jobs.join_next().await.is_some() {}
    if let Err(error) = core.store.release_jobs(&name).await {
        tracing::warn!(%error, "could not hand back jobs: they are taken over when their leases end");
    }
}

/// Returns when the engine stops and whoever still works has had their time.
pub(crate) async fn grace_over(core: &Core) {
    let mut stopping = core.stopping.subscribe();
    // An error would mean that the core is gone, which is held here.
    let _ = stopping.wait_for(|stop| *stop).await;
    core.clock.sleep_until(later(core.now(), GRACE)).await;
}

/// Takes as many jobs as there are hands; answers when to look for the next.
async fn claim(core: &Arc<Core>, worker: &str, jobs: &mut JoinSet<()>) -> Timestamp {
    let now = core.now();
    // Each claim under a name of its own: an attempt that was overtaken by another review, which this
    // worker has claimed too, must not pass for that one.
    let owner: Arc<str> = format!("{worker}/{}", new_id()).into();
    let poll = later(now, POLL);
    let free = core.concurrency.saturating_sub(jobs.len());
    match core.store.claim_jobs(now, &lease(core, &owner), free).await {
        Ok(claims) => {
            for job in claims.jobs {
                jobs.spawn(work(Arc::clone(core), Arc::clone(&owner), job));
            }
            claims.next_due.map_or(poll, |due| due.min(poll))
        }
        Err(error) => {
            tracing::warn!(%error, "could not look for queued reviews: trying again");
            poll
        }
    }
}

fn lease(core: &Core, owner: &str) -> Lease {
    Lease {
        owner: owner.to_owned(),
        until: later(core.now(), core.lease),
    }
}

/// One attempt at one review.
async fn work(core: Arc<Core>, owner: Arc<str>, job: Job) {
    let Job {
        project,
        trace,
        review,
        attempts,
    } = job;
    let id = trace.id.clone();
    let outcome = if attempts > MAX_ATTEMPTS {
        Err(given_up())
    } else {
        learn(&core, &owner, &project, trace, review).await
    };
    let error = match outcome {
        Ok(Applied::Done) => return,
        Ok(applied) => {
            tracing::debug!(trace = %id, ?applied, "another has taken the review over");
            return;
        }
        Err(error) => error,
    };
    let setback = setback(&core, &error, attempts);
    tracing::warn!(
        trace = %id, attempts, next = ?setback.next, %error, "a review could not be worked on"
    );
    let told = core.store.fail_job(&owner, &project, &id, setback).await;
    if let Err(error) = told {
        tracing::warn!(trace = %id, %error, "could not put a review back: it is when its lease ends");
    }
}

async fn learn(
    core: &Arc<Core>,
    owner: &Arc<str>,
    project: &ProjectId,
    trace: Trace,
    review: NewReview,
) -> Result<Applied> {
    let id = trace.id.clone();
    // In a set of its own, so that a panic ends the attempt only, and an abort of this ends it too.
    let mut attempt = JoinSet::new();
    let context = Arc::clone(core);
    attempt.spawn(async move { lesson(&context, &trace, review).await });
    let lesson = loop {
        let renewal = later(core.now(), core.lease / 3);
        tokio::select! {
            Some(ended_with) = attempt.join_next() => break ended_with.map_err(ended)??,
            () = core.clock.sleep_until(renewal) => {
                if !still_ours(core, owner, project, &id).await {
                    return Ok(Applied::LeaseLost);
                }
            }
        }
    };
    let basis = Basis::Job {
        owner: owner.to_string(),
    };
    core.store.apply_review(project, &id, basis, lesson).await
}

/// Renews the lease; a store that is away for a moment is no reason to stop.
async fn still_ours(core: &Core, owner: &str, project: &ProjectId, id: &TraceId) -> bool {
    let lease = lease(core, owner);
    match core.store.renew_job(&lease, project, id).await {
        Ok(kept) => kept,
        Err(error) => {
            tracing::warn!(trace = %id, %error, "could not renew the lease of a review");
            true
        }
    }
}

/// What becomes of a review after so many attempts, the last of which ended like this.
pub(crate) fn setback(core: &Core, error: &Error, attempts: u32) -> Setback {
    let at = |pause| later(core.now(), pause);
    let next = match error {
        _ if attempts >= MAX_ATTEMPTS => Next::Never,
        // Told as failed at once, because a person has to see to it; and the next try may find it done.
        Error::Model(error) if model::is_setup(error) => {
            Next::FailedUntil(at(SETUP_PAUSE * 2_u32.pow(attempts.saturating_sub(1))))
        }
        // What a model refuses for good it will refuse again.
        Error::Model(error) if !error.retryable => Next::Never,
        error => Next::At(at(pause(attempts).max(asked_for(error)))),
    };
    Setback {
        error: error.to_string(),
        next,
    }
}

/// How long a model's server wants to be left alone, within reason.
fn asked_for(error: &Error) -> Duration {
    error.retry_after().unwrap_or_default().min(LONGEST_PAUSE)
}

/// Growing, and spread by chance so that many that failed together do not come back together.
fn pause(attempts: u32) -> Duration {
    let longest = FIRST_PAUSE * 4u32.saturating_pow(attempts.saturating_sub(1));
    longest.mul_f64(0.5 + fastrand::f64() / 2.0)
}

fn given_up() -> Error {
    Error::Internal {
        message: format!(
            "given up after {MAX_ATTEMPTS} attempts that never ended: the process that worked on \
             it died each time. Retry it when the cause is found"
        ),
        source: None,
    }
}
