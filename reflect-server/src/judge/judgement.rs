//! The judgement of one trace.

use std::time::Duration;

use reflect_engine::Engine;
use reflect_models::{Judge, JudgeRun};
use reflect_types::{IngestStatus, ProjectId, Trace, TraceId};

/// Pause after an error in the model's settings, such as a wrong key.
const SETUP_PAUSE: Duration = Duration::from_secs(300);

/// The result of judging one trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JudgeOutcome {
    /// Passed.
    Passed,
    /// Failed.
    Failed,
    /// The judge gave no verdict.
    Unclear,
    /// Reviewed or deleted by someone else meanwhile.
    Overtaken,
    /// The model or the store failed in a way that a retry does not fix soon.
    Error,
    /// The model or the store is unavailable, with its `Retry-After` delay, if any.
    Unavailable(Option<Duration>),
}

impl JudgeOutcome {
    /// The value of the metric's label.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "pass",
            Self::Failed => "fail",
            Self::Unclear => "unclear",
            Self::Overtaken => "overtaken",
            Self::Error | Self::Unavailable(_) => "error",
        }
    }
}

/// Whether the trace has no review, pending or withdrawn. A withdrawn review of a judge is left to
/// people.
pub(super) fn is_unreviewed(trace: &Trace) -> bool {
    trace.review.is_none()
        && trace.withdrawn_verdict.is_none()
        && trace.ingest_status == IngestStatus::Completed
}

/// Judges one trace and stores the review.
pub(super) async fn judge_trace(
    engine: &Engine,
    judge: &Judge,
    project: &ProjectId,
    trace: &Trace,
) -> JudgeOutcome {
    let opinion = match judge.judge(&JudgeRun::from(trace)).await {
        Ok(opinion) => opinion,
        Err(error) => {
            tracing::warn!(trace = %trace.id, %error, "the judge failed");
            return if error.is_retryable() {
                JudgeOutcome::Unavailable(error.retry_after())
            } else if error.is_setup() {
                // A wrong key is not the fault of this trace.
                JudgeOutcome::Unavailable(Some(SETUP_PAUSE))
            } else {
                JudgeOutcome::Error
            };
        }
    };
    let Some(review) = judge.review(&opinion) else {
        tracing::info!(trace = %trace.id, "the judge gave no verdict: the trace waits for a person");
        return JudgeOutcome::Unclear;
    };
    let verdict = match review.result.success() {
        Some(true) => JudgeOutcome::Passed,
        _ => JudgeOutcome::Failed,
    };
    match engine.review_trace(project, &trace.id, review).await {
        Ok(reviewed) if is_by_judge(&reviewed) => verdict,
        // A person reviewed or deleted the trace meanwhile.
        Ok(_)
        | Err(reflect_engine::Error::Conflict(_) | reflect_engine::Error::NotFound { .. }) => {
            JudgeOutcome::Overtaken
        }
        Err(error) if is_stored(engine, project, &trace.id).await => {
            tracing::warn!(trace = %trace.id, %error, "a review of the judge waits for its memory");
            verdict
        }
        Err(error) => {
            tracing::warn!(trace = %trace.id, %error, "a review of the judge could not be stored");
            if error.is_retryable() {
                JudgeOutcome::Unavailable(None)
            } else {
                JudgeOutcome::Error
            }
        }
    }
}

/// Whether the review is stored although its memory failed.
async fn is_stored(engine: &Engine, project: &ProjectId, id: &TraceId) -> bool {
    let stored = engine.get_trace(project, id).await;
    stored.is_ok_and(|trace| is_by_judge(&trace))
}

fn is_by_judge(trace: &Trace) -> bool {
    let review = trace.review.as_ref();
    review.is_some_and(|review| review.model().is_some())
}
