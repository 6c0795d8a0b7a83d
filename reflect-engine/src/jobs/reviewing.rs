//! Giving a review to a trace: its memory is learned, or the review is deferred until it can be.

use std::sync::Arc;

use reflect_types::{
    InvalidField, KeyId, ModelVerdict, ProjectId, Review, ReviewMode, Reviewer, Trace,
};

use super::learning::{LEARNING, keeps_personal, learn};
use super::setback::setback;
use super::worker::grace_over;
use crate::core::Core;
use crate::error::{Error, Result};
use crate::id::new_id;
use crate::review::{Action, Basis, NewReview, NextAttempt, Refusal};
use crate::task::{attempt, run_to_end};

/// What became of a review.
#[derive(Debug)]
pub(crate) enum ReviewResult {
    /// Its memory is stored.
    Learned,
    /// It is stored, and its memory is not, because of this error.
    Deferred(Error),
    /// It is not stored.
    Refused(Refusal),
}

/// A review as it is stored. Refused if its `alpha` is over the limit of the project; without
/// one it gets the default, a program's at most that of a judge, or that limit. That of a model which
/// agrees too little with people is lowered.
pub(crate) async fn new_review(
    core: &Core,
    project: &ProjectId,
    review: Review,
    mode: ReviewMode,
    key_id: Option<KeyId>,
    overruled: Option<ModelVerdict>,
) -> Result<NewReview> {
    let limit = core.store.settings(project).await?.max_alpha;
    let alpha = match (review.alpha, limit) {
        (Some(alpha), Some(limit)) if alpha > limit => {
            let field = match mode {
                ReviewMode::Inline => "review.alpha",
                _ => "alpha",
            };
            let problem =
                format!("must be at most {limit} in this project (its `max_alpha`), got {alpha}");
            return Err(InvalidField::new(field, problem).into());
        }
        (Some(alpha), _) => alpha,
        (None, limit) => {
            let default = match review.reviewer {
                Reviewer::Program => core.alpha.min(Review::JUDGE_ALPHA),
                _ => core.alpha,
            };
            limit.map_or(default, |limit| default.min(limit))
        }
    };
    // Stored with the review, so that a replay does not depend on what people review later.
    let alpha = match review.reviewer.model_name() {
        Some(model) => alpha * core.store.agreement(project, model).await?.step(),
        None => alpha,
    };
    Ok(NewReview {
        id: new_id(),
        verdict: review.result,
        feedback: review.feedback_text,
        alpha,
        reflection: review.reflection,
        mode,
        reviewer: review.reviewer,
        key_id,
        overruled,
        created_at: core.now(),
    })
}

/// Gives a review. Runs to its end even if the caller is dropped: a model call may already be paid for.
pub(crate) async fn give(
    core: &Arc<Core>,
    project: &ProjectId,
    trace: Trace,
    review: NewReview,
    basis: Basis,
) -> Result<ReviewResult> {
    let what = format!("the review of trace `{}`", trace.id);
    let work = learn_or_defer(Arc::clone(core), project.clone(), trace, review, basis);
    run_to_end(&core.calls, LEARNING, what, work).await
}

/// Neither a model's failure nor a shutdown may lose the review.
async fn learn_or_defer(
    core: Arc<Core>,
    project: ProjectId,
    trace: Trace,
    review: NewReview,
    basis: Basis,
) -> Result<ReviewResult> {
    let id = trace.id.clone();
    let keeps_personal = keeps_personal(&core, &project).await?;
    let (context, given) = (Arc::clone(&core), review.clone());
    let work = async move { learn(&context, trace, given, keeps_personal).await };
    let outcome = tokio::select! {
        ended = attempt(LEARNING, work) => ended.flatten(),
        () = grace_over(&core) => Err(Error::unavailable("the engine is shutting down")),
    };
    let (action, deferred_by) = match outcome {
        Ok(Some(learned)) => (Action::Learn { basis, learned }, None),
        Ok(None) => (Action::Accept { basis, review }, None),
        Err(error) => {
            let setback = setback(&core, &error, 1);
            let error = stored(error, setback.next);
            let action = Action::Defer {
                basis,
                review,
                setback,
            };
            (action, Some(error))
        }
    };
    Ok(match core.store.review(&project, &id, action).await? {
        Err(refusal) => ReviewResult::Refused(refusal),
        Ok(()) => match deferred_by {
            None => ReviewResult::Learned,
            Some(error) => {
                core.work.notify_one();
                ReviewResult::Deferred(error)
            }
        },
    })
}

/// A model's failure, with what happens to the stored review.
fn stored(error: Error, next: NextAttempt) -> Error {
    let fate = match next {
        NextAttempt::At(_) => "the review is stored and is retried automatically",
        NextAttempt::FailedUntil(_) => {
            "the review is stored: correct the model's settings, then retry the trace or wait for \
             the next attempt"
        }
        NextAttempt::Never => "the review is stored: retry the trace when the model works again",
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
