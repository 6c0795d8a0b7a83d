//! Judging a run, judging it otherwise, and taking the judgement back.

use std::sync::Arc;

use reflect_types::{
    IngestStatus, ProjectId, Review, ReviewMode, ReviewRecord, ReviewStatus, Trace, TraceId,
    Verdict,
};

use super::core::contained;
use super::{Engine, no_trace};
use crate::error::{Error, Result};
use crate::ingest;
use crate::store::{Applied, Basis, Withdrawn};

impl Engine {
    /// Judges a run; its memory is there when this returns. The same verdict again changes
    /// nothing, another one is refused: see [`change_review`](Self::change_review). A person's
    /// review takes the place of a model's ([`Review::judged_by`]), and says what that was.
    pub async fn review_trace(
        &self,
        project: &ProjectId,
        id: &TraceId,
        review: Review,
    ) -> Result<Trace> {
        self.checked(project, &review)?;
        let trace = self.get_trace(project, id).await?;
        let (given, by_a_model) = (review.result, is_a_models(&review));
        if judged_by_a_model(&trace) && !by_a_model {
            return self.change_review(project, id, review).await;
        }
        if let Some(answer) = settled(&trace, given)? {
            return Ok(answer);
        }
        let applied = self.judge(project, trace, review.clone(), Basis::Fresh);
        match applied.await? {
            Applied::Done => self.get_trace(project, id).await,
            Applied::Reviewed(verdict) => {
                // Somebody was faster: a model, while the person's reflection was being written?
                let trace = self.get_trace(project, id).await?;
                if judged_by_a_model(&trace) && !by_a_model {
                    return self.change_review(project, id, review).await;
                }
                if verdict == given {
                    return Ok(trace);
                }
                Err(other_verdict(id, verdict))
            }
            other => Err(refused(id, other)),
        }
    }

    /// Judges a run otherwise than before. Its memory is written anew under the same id, and the
    /// utilities become what they would be had this been the review from the start.
    pub async fn change_review(
        &self,
        project: &ProjectId,
        id: &TraceId,
        review: Review,
    ) -> Result<Trace> {
        self.checked(project, &review)?;
        let trace = self.get_trace(project, id).await?;
        let basis = match (&trace.ingest_status, &trace.review) {
            // Nothing was learned from the review before, so there is nothing to replace.
            (IngestStatus::Failed, _) => Basis::Fresh,
            (_, Some(current)) => Basis::Replace {
                review_id: current.id.clone(),
            },
            (_, None) => return Err(refused(id, Applied::NoReview)),
        };
        let review = remembering_the_judge(review, &trace);
        match self.judge(project, trace, review, basis).await? {
            Applied::Done => self.get_trace(project, id).await,
            other => Err(refused(id, other)),
        }
    }

    /// Takes a run's review back: the memory it made goes, and the utilities become what they
    /// would be had it never been given. The run waits for a review again.
    pub async fn withdraw_review(&self, project: &ProjectId, id: &TraceId) -> Result<Trace> {
        let core = self.checked(project, id)?;
        match core.store.withdraw_review(project, id).await? {
            Withdrawn::Done => self.get_trace(project, id).await,
            Withdrawn::NoTrace => Err(no_trace(id)),
            Withdrawn::NoReview => Err(Error::Conflict(format!(
                "trace `{id}` has no review that could be taken back"
            ))),
        }
    }

    async fn judge(
        &self,
        project: &ProjectId,
        trace: Trace,
        review: Review,
        basis: Basis,
    ) -> Result<Applied> {
        let (core, project) = (Arc::clone(self.core()), project.clone());
        let review = self.review(review, ReviewMode::Deferred);
        // To its end, also if the caller goes away: a model may have been asked, and paid.
        contained(async move {
            let id = trace.id.clone();
            match ingest::lesson(&core, &trace, review.clone()).await {
                Ok(lesson) => core.store.apply_review(&project, &id, basis, lesson).await,
                Err(Error::Model(error)) if matches!(basis, Basis::Fresh) => {
                    // What the reviewer said must not be lost with the model's failure.
                    let why = error.to_string();
                    match core.store.put_aside(&project, &id, review, &why).await? {
                        Applied::Done => Err(Error::Model(error)),
                        other => Ok(other),
                    }
                }
                Err(error) => Err(error),
            }
        })
        .await
    }
}

fn is_a_models(review: &Review) -> bool {
    review.judge().is_some_and(|note| note.is_own())
}

fn judged_by_a_model(trace: &Trace) -> bool {
    let note = trace.review.as_ref().and_then(ReviewRecord::judge);
    trace.review_status == ReviewStatus::Reviewed && note.is_some_and(|note| note.is_own())
}

/// A review that says what a model had said before it, so that the two can be compared later.
fn remembering_the_judge(review: Review, trace: &Trace) -> Review {
    let Some(current) = &trace.review else {
        return review;
    };
    match (current.judge(), review.judge()) {
        (Some(note), None) => {
            let said = note.said.unwrap_or(current.result);
            review.after_judge(&note.judge, said)
        }
        _ => review,
    }
}

/// The answer where the run was judged already and alike.
fn settled(trace: &Trace, verdict: Verdict) -> Result<Option<Trace>> {
    match (&trace.ingest_status, &trace.review) {
        (IngestStatus::Queued | IngestStatus::Processing, _) => {
            Err(refused(&trace.id, Applied::Working))
        }
        (_, Some(review)) if trace.review_status == ReviewStatus::Reviewed => {
            if review.result == verdict {
                Ok(Some(trace.clone()))
            } else {
                Err(other_verdict(&trace.id, review.result))
            }
        }
        _ => Ok(None),
    }
}

fn other_verdict(id: &TraceId, verdict: Verdict) -> Error {
    Error::Conflict(format!(
        "trace `{id}` was reviewed as `{verdict}` already: judge it otherwise with change_review (PUT), \
         or take that review back with withdraw_review (DELETE)"
    ))
}

fn refused(id: &TraceId, applied: Applied) -> Error {
    Error::Conflict(match applied {
        Applied::Working => {
            format!("the review of trace `{id}` is still being worked on: wait until it is done")
        }
        Applied::NoTrace => return no_trace(id),
        Applied::NoReview => format!("trace `{id}` has no review: give it one first"),
        Applied::Reviewed(verdict) => return other_verdict(id, verdict),
        Applied::LeaseLost | Applied::Done => {
            format!("the review of trace `{id}` was changed meanwhile: read it and try again")
        }
    })
}
