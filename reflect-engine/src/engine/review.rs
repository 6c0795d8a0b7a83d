//! Reviewing a trace, replacing the review, and withdrawing it.

use std::sync::Arc;

use reflect_types::{ProjectId, Review, ReviewMode, Trace, TraceId, Verdict};
use tokio::task::JoinSet;

use super::handle::Engine;
use super::traces::no_trace;
use crate::core::Core;
use crate::error::{Error, Result};
use crate::ingest;
use crate::review::{
    self, Action, Admission, Basis, Decision, NewReview, NextAttempt, Refusal, admit, admit_change,
};
use crate::task::{model_panicked, run_to_end};

impl Engine {
    /// Reviews a trace; its memory is stored when this returns. The same verdict again changes
    /// nothing, another one is a conflict: see [`change_review`](Self::change_review). A person's
    /// review replaces a model's ([`Review::judged_by`]) and keeps its verdict; a model's never
    /// replaces a person's.
    ///
    /// If a model fails, the error says so and the review is stored. A failure that may pass is
    /// retried in the background; until then, the same review returns the trace as it is. A review
    /// with its own reflection needs no model and replaces the one that waits.
    pub async fn review_trace(
        &self,
        project: &ProjectId,
        id: &TraceId,
        review: Review,
    ) -> Result<Trace> {
        self.checked(project, &review)?;
        let trace = self.stored_trace(project, id).await?;
        let basis = match admit(&trace, &review).map_err(|refusal| refused(id, refusal))? {
            Admission::Settled => return Ok(trace.with_judge_notes()),
            Admission::Learn(basis) => basis,
        };
        match self.judge(project, trace, review.clone(), basis).await? {
            Ok(()) => self.get_trace(project, id).await,
            Err(refusal @ (Refusal::Reviewed(_) | Refusal::Working)) => {
                // Another review came first while this one's reflection was being written.
                let trace = self.stored_trace(project, id).await?;
                if review::overrides(&review, &trace) {
                    return self.change_review(project, id, review).await;
                }
                if refusal == Refusal::Reviewed(review.result) {
                    return Ok(trace.with_judge_notes());
                }
                Err(refused(id, refusal))
            }
            Err(refusal) => Err(refused(id, refusal)),
        }
    }

    /// Replaces the review of a trace. Its memory is rewritten under the same id, and utilities
    /// become what they would be with this review from the start. If a model fails, the review is
    /// stored as by [`review_trace`](Self::review_trace), and what the replaced one has taught stays
    /// until the new one is learned from.
    pub async fn change_review(
        &self,
        project: &ProjectId,
        id: &TraceId,
        review: Review,
    ) -> Result<Trace> {
        self.checked(project, &review)?;
        let trace = self.stored_trace(project, id).await?;
        let basis = admit_change(&trace, &review).map_err(|refusal| refused(id, refusal))?;
        match self.judge(project, trace, review, basis).await? {
            Ok(()) => self.get_trace(project, id).await,
            Err(refusal) => Err(refused(id, refusal)),
        }
    }

    /// Withdraws the review of a trace. Its memory is deleted, utilities become what they would be
    /// without the review, and the trace waits for a review again.
    pub async fn withdraw_review(&self, project: &ProjectId, id: &TraceId) -> Result<Trace> {
        let core = self.checked(project, id)?;
        match core.store.review(project, id, Action::Withdraw).await? {
            Ok(()) => self.get_trace(project, id).await,
            Err(Refusal::NoReview) => Err(Error::Conflict(format!(
                "trace `{id}` has no review to withdraw"
            ))),
            Err(refusal) => Err(refused(id, refusal)),
        }
    }

    async fn judge(
        &self,
        project: &ProjectId,
        trace: Trace,
        review: Review,
        basis: Basis,
    ) -> Result<Decision> {
        let core = self.core();
        let overruled = review::overruled(&review, &trace);
        let review = self.new_review(review, ReviewMode::Deferred, overruled);
        let what = format!("the review of trace `{}`", trace.id);
        // To its end even if the caller goes away: a model may have been asked, and paid.
        let work = learn(Arc::clone(core), project.clone(), trace, review, basis);
        run_to_end(core, what, work).await
    }
}

/// Learns from a review, or puts it aside: neither a model's failure nor a shutdown may lose it.
async fn learn(
    core: Arc<Core>,
    project: ProjectId,
    trace: Trace,
    review: NewReview,
    basis: Basis,
) -> Result<Decision> {
    let id = trace.id.clone();
    // In a task, so that a panic ends only the attempt; in a set, so that it ends with this future.
    let mut attempt = JoinSet::new();
    let (context, given) = (Arc::clone(&core), review.clone());
    attempt.spawn(async move { ingest::learn(&context, &trace, given).await });
    let outcome = tokio::select! {
        Some(ended_with) = attempt.join_next() => ended_with.map_err(model_panicked).flatten(),
        () = ingest::grace_over(&core) => Err(Error::unavailable("the engine is shutting down")),
    };
    let error = match outcome {
        Ok(learned) => {
            let action = Action::Learn { basis, learned };
            return core.store.review(&project, &id, action).await;
        }
        Err(error) => error,
    };
    let setback = ingest::setback(&core, &error, 1);
    let next = setback.next;
    let action = Action::PutAside {
        basis,
        review,
        setback,
    };
    match core.store.review(&project, &id, action).await? {
        Ok(()) => {
            core.work.notify_one();
            Err(stored(error, next))
        }
        refused => Ok(refused),
    }
}

/// A model's failure, with what happens to the stored review.
fn stored(error: Error, next: NextAttempt) -> Error {
    let fate = match next {
        NextAttempt::At(_) => "the review is kept, and will be learned from by itself",
        NextAttempt::FailedUntil(_) => {
            "the review is kept: see to the model's settings, then retry the trace, or wait until it \
             is tried again"
        }
        NextAttempt::Never => "the review is kept: retry the trace when the model is well",
    };
    match error {
        Error::Model(mut error) => {
            error.message = format!("{} ({fate})", error.message);
            Error::Model(error)
        }
        Error::Unavailable { message, source } => Error::Unavailable {
            message: format!("{message} ({fate})"),
            source,
        },
        other => other,
    }
}

fn refused(id: &TraceId, refusal: Refusal) -> Error {
    Error::Conflict(match refusal {
        Refusal::NoTrace => return no_trace(id),
        Refusal::NoReview => format!("trace `{id}` has no review: give it one first"),
        Refusal::Working => {
            format!("the review of trace `{id}` is still being worked on: wait until it is done")
        }
        Refusal::Reviewed(verdict) => other_verdict(id, verdict),
        Refusal::ByPerson => {
            format!("the review of trace `{id}` is a person's: a model's does not replace it")
        }
        Refusal::LeaseLost | Refusal::Changed | Refusal::NotFailed => {
            format!("the review of trace `{id}` was changed meanwhile: read it and try again")
        }
        Refusal::UnknownVerdict => {
            return Error::Internal {
                message: "a review without a verdict reached the store".to_owned(),
                source: None,
            };
        }
    })
}

fn other_verdict(id: &TraceId, verdict: Verdict) -> String {
    format!(
        "trace `{id}` was reviewed as `{verdict}` already: replace that review with change_review (PUT), \
         or withdraw it with withdraw_review (DELETE)"
    )
}
