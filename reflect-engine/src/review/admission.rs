//! Whether a review is worth writing a memory for, decided before a model is asked.

use reflect_types::{
    IngestStatus, ModelVerdict, Review, ReviewMode, ReviewRecord, ReviewStatus, Reviewer, Trace,
};

use super::action::{Basis, ReviewVersion};
use super::refusal::Refusal;

/// How to proceed with a review that is not refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// Learn from it, on this basis.
    Learn(Basis),
    /// Nothing is left to do: the trace has this review.
    Settled,
}

/// Admits a review of a trace. A person's review replaces a model's or a program's, and a model's a
/// program's, never the other way round; apart from that, only a review with the same verdict may follow
/// another.
pub(crate) fn admit(trace: &Trace, review: &Review) -> Result<Admission, Refusal> {
    if overrides(review, trace) {
        return admit_change(trace, review).map(Admission::Learn);
    }
    let Some(current) = &trace.review else {
        return Ok(Admission::Learn(Basis::Fresh));
    };
    if outranks(&reviewer(current), &review.reviewer) {
        if current.result == review.result {
            return Ok(Admission::Settled);
        }
        return Err(Refusal::Reviewed(current.result));
    }
    if is_working(trace) {
        // The same review again, after the first call reported that its memory has to wait.
        if current.mode != ReviewMode::Deferred || !agree(current, review) {
            return Err(Refusal::Working);
        }
        return Ok(match review.reflection {
            None => Admission::Settled,
            // With a reflection nothing has to wait any longer.
            Some(_) => Admission::Learn(replacing(current)),
        });
    }
    if trace.review_status != ReviewStatus::Reviewed {
        return Ok(Admission::Learn(Basis::Fresh));
    }
    if current.result != review.result {
        return Err(Refusal::Reviewed(current.result));
    }
    Ok(match trace.ingest_status {
        IngestStatus::Failed => Admission::Learn(replacing(current)),
        _ => Admission::Settled,
    })
}

/// Admits a review that replaces the one a trace has.
pub(crate) fn admit_change(trace: &Trace, review: &Review) -> Result<Basis, Refusal> {
    let current = trace.review.as_ref().ok_or(Refusal::NoReview)?;
    if outranks(&reviewer(current), &review.reviewer) {
        return Err(Refusal::Outranked);
    }
    // An inline review is learned from any moment now. A deferred one may wait for long, and one that
    // is not a person's may be replaced at any time.
    let replaceable = current.mode == ReviewMode::Deferred || !current.is_by_person();
    if is_working(trace) && !replaceable {
        return Err(Refusal::Working);
    }
    Ok(replacing(current))
}

/// Whether the review replaces that of the trace even if it says something else.
pub(crate) fn overrides(review: &Review, trace: &Trace) -> bool {
    let current = trace.review.as_ref().map(reviewer);
    current.is_some_and(|current| outranks(&review.reviewer, &current))
}

/// The verdict of a model that a person's review of the trace replaces, so that the two can be
/// compared.
pub(crate) fn overruled(review: &Review, trace: &Trace) -> Option<ModelVerdict> {
    if review.reviewer != Reviewer::Human {
        return None;
    }
    let current = trace.review.as_ref().map(version);
    let current = current.and_then(ReviewVersion::model_verdict);
    current.or_else(|| trace.withdrawn_verdict.clone())
}

/// Whether the reviews of one replace those of the other.
pub(super) fn outranks(reviewer: &Reviewer, other: &Reviewer) -> bool {
    rank(reviewer) > rank(other)
}

fn rank(reviewer: &Reviewer) -> u8 {
    match reviewer {
        Reviewer::Program => 0,
        Reviewer::Model(_) => 1,
        _ => 2,
    }
}

fn reviewer(review: &ReviewRecord) -> Reviewer {
    review.reviewer.clone().unwrap_or_default()
}

fn is_working(trace: &Trace) -> bool {
    matches!(
        trace.ingest_status,
        IngestStatus::Queued | IngestStatus::Processing
    )
}

fn agree(current: &ReviewRecord, review: &Review) -> bool {
    let text = |feedback: &Option<String>| {
        let text = feedback.as_deref().unwrap_or_default();
        text.trim().to_owned()
    };
    current.result == review.result && text(&current.feedback_text) == text(&review.feedback_text)
}

fn replacing(current: &ReviewRecord) -> Basis {
    Basis::Replace(version(current))
}

/// The version of a stored review.
pub(crate) fn version(review: &ReviewRecord) -> ReviewVersion {
    ReviewVersion {
        id: review.id.clone(),
        verdict: review.result,
        feedback: review.feedback_text.clone(),
        reviewer: reviewer(review),
        overruled: review.overruled.clone(),
    }
}
