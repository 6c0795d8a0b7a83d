//! Reviewing a trace, replacing the review, and withdrawing it.

use reflect_types::{ProjectId, Review, ReviewMode, ReviewRecord, Trace, TraceId, Verdict};

use super::handle::Engine;
use super::traces::no_trace;
use crate::error::{Error, Result};
use crate::jobs::{self, ReviewResult};
use crate::review::{
    self, Action, Admission, Basis, Decision, Refusal, ReviewVersion, Withdrawal, admit,
    admit_change,
};

impl Engine {
    /// Reviews a trace; its memory is stored when this returns. The same verdict again changes
    /// nothing, another one is a conflict: see [`change_review`](Self::change_review). A person's
    /// review replaces a model's ([`Review::judged_by`]) and keeps its verdict, both replace a
    /// program's, and it is never the other way round.
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
        let trace = self.get_trace(project, id).await?;
        let basis = match admit(&trace, &review).map_err(|refusal| refused(id, refusal))? {
            Admission::Settled => return Ok(trace),
            Admission::Learn(basis) => basis,
        };
        match self.give(project, trace, review.clone(), basis).await? {
            Ok(()) => self.get_trace(project, id).await,
            Err(refusal @ (Refusal::Reviewed(_) | Refusal::Working)) => {
                // Another review came first while this one's reflection was being written.
                let trace = self.get_trace(project, id).await?;
                if review::overrides(&review, &trace) {
                    return self.change_review(project, id, review).await;
                }
                if refusal == Refusal::Reviewed(review.result) {
                    return Ok(trace);
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
        let trace = self.get_trace(project, id).await?;
        let basis = admit_change(&trace, &review).map_err(|refusal| refused(id, refusal))?;
        match self.give(project, trace, review, basis).await? {
            Ok(()) => self.get_trace(project, id).await,
            Err(refusal) => Err(refused(id, refusal)),
        }
    }

    /// Withdraws the review of a trace. Its memory is set aside, utilities become what they would be
    /// without the review, and the trace waits for a review again.
    pub async fn withdraw_review(&self, project: &ProjectId, id: &TraceId) -> Result<Trace> {
        self.withdraw(project, id, None).await
    }

    /// Withdraws the review of a trace as [`withdraw_review`](Self::withdraw_review). It is a conflict if `is_meant`
    /// returns `false` for the review, or if the review is replaced before it is withdrawn.
    pub async fn withdraw_review_if(
        &self,
        project: &ProjectId,
        id: &TraceId,
        is_meant: impl FnOnce(&ReviewRecord) -> bool,
    ) -> Result<Trace> {
        let trace = self.get_trace(project, id).await?;
        let Some(review) = trace.review.as_ref().filter(|review| is_meant(review)) else {
            return Err(refused(id, Refusal::Changed));
        };
        let version = review::version(review);
        self.withdraw(project, id, Some(version)).await
    }

    async fn withdraw(
        &self,
        project: &ProjectId,
        id: &TraceId,
        review: Option<ReviewVersion>,
    ) -> Result<Trace> {
        let core = self.checked(project, id)?;
        let withdrawal = Withdrawal {
            key_id: self.key().cloned(),
            at: core.now(),
        };
        let action = Action::Withdraw { review, withdrawal };
        match core.store.review(project, id, action).await? {
            Ok(()) => self.get_trace(project, id).await,
            Err(Refusal::NoReview) => Err(Error::Conflict(format!(
                "trace `{id}` has no review to withdraw"
            ))),
            Err(refusal) => Err(refused(id, refusal)),
        }
    }

    async fn give(
        &self,
        project: &ProjectId,
        trace: Trace,
        review: Review,
        basis: Basis,
    ) -> Result<Decision> {
        let overruled = review::overruled(&review, &trace);
        let mode = ReviewMode::Deferred;
        let review = self.new_review(project, review, mode, overruled).await?;
        match jobs::give(self.core(), project, trace, review, basis).await? {
            ReviewResult::Learned => Ok(Ok(())),
            ReviewResult::Deferred(error) => Err(error),
            ReviewResult::Refused(refusal) => Ok(Err(refusal)),
        }
    }
}

fn refused(id: &TraceId, refusal: Refusal) -> Error {
    Error::Conflict(match refusal {
        Refusal::NoTrace => return no_trace(id),
        Refusal::NoReview => format!("trace `{id}` has no review: review it first"),
        Refusal::Working => {
            format!("the review of trace `{id}` is still in progress: wait until it is done")
        }
        Refusal::Reviewed(verdict) => other_verdict(id, verdict),
        Refusal::Outranked => format!(
            "the review of trace `{id}` stays: a person's is replaced only by a person's, and a model's \
             never by a program's"
        ),
        Refusal::Undone => format!(
            "the reviews of this key were undone while the review of trace `{id}` was being written: \
             submit it again if it is still wanted"
        ),
        Refusal::LeaseLost | Refusal::Changed | Refusal::NotFailed => {
            format!("the review of trace `{id}` was changed meanwhile: read it and try again")
        }
        Refusal::UnknownVerdict => {
            return Error::bug("a review without a verdict reached the store");
        }
    })
}

fn other_verdict(id: &TraceId, verdict: Verdict) -> String {
    format!(
        "trace `{id}` was reviewed as `{verdict}` already: replace that review with change_review (PUT), \
         or withdraw it with withdraw_review (DELETE)"
    )
}
