//! What a store keeps of an archived trace.

use jiff::Timestamp;
use reflect_types::{ArchivedTrace, IngestStatus, ModelVerdict, Review, ReviewRecord, Reviewer};

use super::legacy_note;
use crate::review::NewReview;

/// The review of an archived trace; what an older archive leaves out gets its default.
pub(super) fn review(archived: &ArchivedTrace, now: Timestamp) -> Option<NewReview> {
    let review = archived.trace.review.as_ref()?;
    let judgement = archived.judgement.as_ref();
    let (reviewer, overruled, feedback) = attribution(review);
    Some(NewReview {
        id: review.id.clone(),
        verdict: review.result,
        feedback: feedback.map(str::to_owned),
        alpha: judgement.map_or(Review::DEFAULT_ALPHA, |kept| kept.alpha),
        reflection: judgement.and_then(|kept| kept.reflection.clone()),
        mode: review.mode.clone(),
        reviewer,
        key_id: review.key_id.clone(),
        overruled,
        created_at: judgement
            .and_then(|kept| kept.created_at.parse().ok())
            .unwrap_or(now),
    })
}

/// Who gave a review, whom it overruled, and its feedback. An archive without a reviewer is of a
/// version that kept all three in the feedback.
fn attribution(review: &ReviewRecord) -> (Reviewer, Option<ModelVerdict>, Option<&str>) {
    if let Some(reviewer) = &review.reviewer {
        return (reviewer.clone(), review.overruled.clone(), review.comment());
    }
    let text = review.feedback_text.as_deref();
    match text.and_then(legacy_note::feedback) {
        Some(noted) => (noted.reviewer, noted.overruled, noted.comment),
        None => (Reviewer::Human, None, text),
    }
}

/// The withdrawn verdict of an archived trace, which an older archive has as a text.
pub(super) fn withdrawn_verdict(archived: &ArchivedTrace) -> Option<ModelVerdict> {
    let trace = &archived.trace;
    let noted = || legacy_note::withdrawn(trace.judge_note.as_deref()?);
    trace.withdrawn_verdict.clone().or_else(noted)
}

/// The status of a restored trace: work in progress starts over.
pub(super) fn status(archived: &ArchivedTrace) -> IngestStatus {
    match (&archived.trace.ingest_status, &archived.trace.review) {
        (IngestStatus::Queued | IngestStatus::Processing, Some(_)) => IngestStatus::Queued,
        (IngestStatus::Failed, Some(_)) => IngestStatus::Failed,
        _ => IngestStatus::Completed,
    }
}
