//! Whether a review is worth writing a memory for, decided before a model is asked.

use reflect_types::{
    IngestStatus, JudgeNote, Review, ReviewMode, ReviewRecord, ReviewStatus, Trace,
    feedback_without_note,
};

use super::action::{Basis, ReviewVersion};
use super::refusal::Refusal;

/// How to go on with a review that is not refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// Learn from it, on this basis.
    Learn(Basis),
    /// Nothing is left to do: the trace has this review.
    Settled,
}

/// Admits a review of a trace. A person's review replaces a model's; apart from that, only a
/// review with the same verdict may follow another.
pub(crate) fn admit(trace: &Trace, review: &Review) -> Result<Admission, Refusal> {
    if overrides(review, trace) {
        return admit_change(trace).map(Admission::Learn);
    }
    let Some(current) = &trace.review else {
        return Ok(Admission::Learn(Basis::Fresh));
    };
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
pub(crate) fn admit_change(trace: &Trace) -> Result<Basis, Refusal> {
    let current = trace.review.as_ref().ok_or(Refusal::NoReview)?;
    // An inline review is learned from any moment now. A deferred one may wait for long, and a
    // model's may be replaced at any time.
    let replaceable = current.mode == ReviewMode::Deferred || is_by_model(current);
    if is_working(trace) && !replaceable {
        return Err(Refusal::Working);
    }
    Ok(replacing(current))
}

/// Whether the review is a person's and the trace's review is a model's.
pub(crate) fn overrides(review: &Review, trace: &Trace) -> bool {
    let by_model = review.judge().is_some_and(|note| note.is_own());
    !by_model && trace.review.as_ref().is_some_and(is_by_model)
}

/// The review with a note of the verdict a model gave before, so that the two can be compared.
pub(crate) fn with_earlier_judge(review: Review, trace: &Trace) -> Review {
    if review.judge().is_some() {
        return review;
    }
    let current = || {
        let current = trace.review.as_ref()?;
        let note = current.judge()?;
        Some((note.said.unwrap_or(current.result), note.judge))
    };
    let withdrawn = || {
        let (note, _) = JudgeNote::read(trace.judge_note.as_deref()?)?;
        Some((note.said?, note.judge))
    };
    match current().or_else(withdrawn) {
        Some((verdict, judge)) => review.after_judge(&judge, verdict),
        None => review,
    }
}

fn is_by_model(review: &ReviewRecord) -> bool {
    review.judge().is_some_and(|note| note.is_own())
}

fn is_working(trace: &Trace) -> bool {
    matches!(
        trace.ingest_status,
        IngestStatus::Queued | IngestStatus::Processing
    )
}

fn agree(current: &ReviewRecord, review: &Review) -> bool {
    let text = |feedback: &Option<String>| {
        feedback_without_note(feedback.as_deref()).map(|text| text.trim().to_owned())
    };
    current.result == review.result && text(&current.feedback_text) == text(&review.feedback_text)
}

fn replacing(current: &ReviewRecord) -> Basis {
    Basis::Replace(ReviewVersion {
        id: current.id.clone(),
        verdict: current.result,
        feedback: current.feedback_text.clone(),
    })
}
