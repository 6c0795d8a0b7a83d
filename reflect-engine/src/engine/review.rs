//! Judging a run, judging it otherwise, and taking the judgement back.

use std::sync::Arc;

use reflect_types::{
    IngestStatus, JudgeNote, ProjectId, Review, ReviewMode, ReviewRecord, ReviewStatus, Trace,
    TraceId, Verdict, feedback_without_note,
};
use tokio::task::JoinSet;

use super::handle::Engine;
use super::traces::no_trace;
use crate::core::Core;
use crate::error::{Error, Result};
use crate::ingest;
use crate::store::{Applied, Basis, NewReview, Next, Said, Withdrawn};
use crate::task::{model_panicked, run_to_end};

impl Engine {
    /// Judges a run; its memory is there when this returns. The same verdict again changes
    /// nothing, another one is refused: see [`change_review`](Self::change_review). A person's
    /// review takes the place of a model's ([`Review::judged_by`]), and says what that was.
    ///
    /// Where a model fails, the error says so and the review is kept: what may pass is worked on
    /// again by itself, and the same review again is answered with the run as it stands while it
    /// waits. One that brings its own reflection needs no model, and takes its place.
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
        if let Some(answer) = settled(&trace, &review)? {
            return Ok(answer);
        }
        let basis = match &trace.review {
            // One that waits for a model, and that somebody now brings the reflection for.
            Some(current) if is_worked_on(&trace) => replacing(current),
            Some(current) if trace.review_status == ReviewStatus::Reviewed => replacing(current),
            _ => Basis::Fresh,
        };
        let noted = remembering_the_judge(review.clone(), &trace);
        match self.judge(project, trace, noted, basis).await? {
            Applied::Done => self.get_trace(project, id).await,
            other @ (Applied::Reviewed(_) | Applied::Working) => {
                // Somebody was faster: a model, while the person's reflection was being written?
                let trace = self.get_trace(project, id).await?;
                if judged_by_a_model(&trace) && !by_a_model {
                    return self.change_review(project, id, review).await;
                }
                if other == Applied::Reviewed(given) {
                    return Ok(trace);
                }
                Err(refused(id, other))
            }
            other => Err(refused(id, other)),
        }
    }

    /// Judges a run otherwise than before. Its memory is written anew under the same id, and the
    /// utilities become what they would be had this been the review from the start. Where a model
    /// fails, the review is kept as [`review_trace`](Self::review_trace) keeps it, and what the one
    /// before has taught stays until this one is learned from.
    pub async fn change_review(
        &self,
        project: &ProjectId,
        id: &TraceId,
        review: Review,
    ) -> Result<Trace> {
        self.checked(project, &review)?;
        let trace = self.get_trace(project, id).await?;
        let Some(current) = &trace.review else {
            return Err(refused(id, Applied::NoReview));
        };
        // A run's own review is about to be learned from. One that was given later and has to wait
        // may do so for long, and a model's gives way to a person's at any time.
        let gives_way = current.mode == ReviewMode::Deferred || judged_by_a_model(&trace);
        if is_worked_on(&trace) && !gives_way {
            return Err(refused(id, Applied::Working));
        }
        let basis = replacing(current);
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
        let core = self.core();
        let review = self.new_review(review, ReviewMode::Deferred);
        let what = format!("the review of trace `{}`", trace.id);
        // To its end, also if the caller goes away: a model may have been asked, and paid.
        let work = pass(Arc::clone(core), project.clone(), trace, review, basis);
        run_to_end(core, what, work).await
    }
}

/// Learns from a review, or keeps it: what the reviewer said must not be lost with a model's failure,
/// nor with a shutdown.
async fn pass(
    core: Arc<Core>,
    project: ProjectId,
    trace: Trace,
    review: NewReview,
    basis: Basis,
) -> Result<Applied> {
    let id = trace.id.clone();
    // In a set of its own, so that a panic ends no more than the attempt, and an end of this ends it.
    let mut attempt = JoinSet::new();
    let (context, given) = (Arc::clone(&core), review.clone());
    attempt.spawn(async move { ingest::lesson(&context, &trace, given).await });
    let outcome = tokio::select! {
        Some(ended_with) = attempt.join_next() => ended_with.map_err(model_panicked).flatten(),
        () = ingest::grace_over(&core) => Err(Error::unavailable("the engine is shutting down")),
    };
    let error = match outcome {
        Ok(lesson) => return core.store.apply_review(&project, &id, basis, lesson).await,
        Err(error) => error,
    };
    let setback = ingest::setback(&core, &error, 1);
    let next = setback.next;
    match core
        .store
        .put_aside(&project, &id, basis, review, setback)
        .await?
    {
        Applied::Done => {
            core.work.notify_one();
            Err(kept(error, next))
        }
        other => Ok(other),
    }
}

/// The failure of a model, and what has become of the review.
fn kept(error: Error, next: Next) -> Error {
    let fate = match next {
        Next::At(_) => "the review is kept, and will be learned from by itself",
        Next::FailedUntil(_) => {
            "the review is kept: see to the model's settings, then retry the trace, or wait until it \
             is tried again"
        }
        Next::Never => "the review is kept: retry the trace when the model is well",
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

fn replacing(current: &ReviewRecord) -> Basis {
    Basis::Replace {
        review_id: current.id.clone(),
        said: Said {
            verdict: current.result,
            feedback: current.feedback_text.clone(),
        },
    }
}

fn is_a_models(review: &Review) -> bool {
    review.judge().is_some_and(|note| note.is_own())
}

/// Whether a model has the last word on the run so far, be it learned from or not.
fn judged_by_a_model(trace: &Trace) -> bool {
    let note = trace.review.as_ref().and_then(ReviewRecord::judge);
    note.is_some_and(|note| note.is_own())
}

fn is_worked_on(trace: &Trace) -> bool {
    matches!(
        trace.ingest_status,
        IngestStatus::Queued | IngestStatus::Processing
    )
}

/// A review that says what a model had said before it, so that the two can be compared later.
fn remembering_the_judge(review: Review, trace: &Trace) -> Review {
    if review.judge().is_some() {
        return review;
    }
    let by_review = trace.review.as_ref().and_then(|current| {
        let note = current.judge()?;
        Some((note.said.unwrap_or(current.result), note.judge))
    });
    let taken_back = || {
        let (note, _) = JudgeNote::read(trace.judge_note.as_deref()?)?;
        Some((note.said?, note.judge))
    };
    match by_review.or_else(taken_back) {
        Some((said, judge)) => review.after_judge(&judge, said),
        None => review,
    }
}

/// The answer where the run was judged already and alike.
fn settled(trace: &Trace, review: &Review) -> Result<Option<Trace>> {
    let Some(current) = &trace.review else {
        return Ok(None);
    };
    if is_worked_on(trace) {
        // The same one again, from a caller who was told that it has to wait. With a reflection it
        // need not.
        if current.mode == ReviewMode::Deferred && says_the_same(current, review) {
            return Ok(review.reflection.is_none().then(|| trace.clone()));
        }
        return Err(refused(&trace.id, Applied::Working));
    }
    if trace.review_status != ReviewStatus::Reviewed {
        return Ok(None);
    }
    if current.result != review.result {
        return Err(other_verdict(&trace.id, current.result));
    }
    // What failed was not learned from yet.
    Ok((trace.ingest_status != IngestStatus::Failed).then(|| trace.clone()))
}

fn says_the_same(current: &ReviewRecord, review: &Review) -> bool {
    let text = |feedback: &Option<String>| {
        feedback_without_note(feedback.as_deref()).map(|text| text.trim().to_owned())
    };
    current.result == review.result && text(&current.feedback_text) == text(&review.feedback_text)
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
        Applied::LeaseLost | Applied::Changed | Applied::Done => {
            format!("the review of trace `{id}` was changed meanwhile: read it and try again")
        }
    })
}
