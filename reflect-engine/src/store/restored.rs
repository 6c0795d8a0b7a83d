//! What a store keeps of an archived trace.

use jiff::Timestamp;
use reflect_types::{ArchivedTrace, IngestStatus, ModelVerdict, Review};

use crate::review::NewReview;

/// The review of an archived trace; what an older archive leaves out gets its default.
pub(super) fn review(archived: &ArchivedTrace, now: Timestamp) -> Option<NewReview> {
    let review = archived.trace.review.as_ref()?;
    let judgement = archived.judgement.as_ref();
    Some(NewReview {
        id: review.id.clone(),
        verdict: review.result,
        feedback: review.feedback_text.clone(),
        alpha: judgement.map_or(Review::DEFAULT_ALPHA, |kept| kept.alpha),
        reflection: judgement.and_then(|kept| kept.reflection.clone()),
        mode: review.mode.clone(),
        reviewer: review.reviewer.clone().unwrap_or_default(),
        key_id: review.key_id.clone(),
        overruled: review.overruled.clone(),
        created_at: judgement
            .and_then(|kept| kept.created_at.parse().ok())
            .unwrap_or(now),
    })
}

/// The withdrawn verdict of an archived trace.
pub(super) fn withdrawn_verdict(archived: &ArchivedTrace) -> Option<ModelVerdict> {
    archived.trace.withdrawn_verdict.clone()
}

/// The status of a restored trace: work in progress starts over.
pub(super) fn status(archived: &ArchivedTrace) -> IngestStatus {
    match (&archived.trace.ingest_status, &archived.trace.review) {
        (IngestStatus::Queued | IngestStatus::Processing, Some(_)) => IngestStatus::Queued,
        (IngestStatus::Failed, Some(_)) => IngestStatus::Failed,
        _ => IngestStatus::Completed,
    }
}
