//! The review queue.

use axum::response::Response;
use jiff::Timestamp;
use reflect_console::{ReviewDesk, ReviewPage, next, review_address};
use reflect_types::{
    ErrorCode, Interruption, ListTraces, Review, ReviewRecord, ReviewTrace, Reviewer, Trace,
    TraceId, Undo, UnknownVerdict, Verdict,
};

use super::answer::{Problem, long_page, redirect};
use super::open_trace::OpenTrace;
use super::visit::{Change, Visit};
use crate::access::bound_alpha;
use crate::error::ApiError;

/// The queue, with one trace opened.
pub(super) async fn queue(visit: Visit) -> Result<Response, Problem> {
    visit.require::<ListTraces>()?;
    visit.require::<ReviewTrace>()?;
    let engine = visit.engine();
    let queue = engine.review_queue(&visit.project).await?;
    let skipped: Vec<&str> = visit.query.all("skipped").collect();
    let open = match visit.query.get("trace") {
        "" => next(&queue, &skipped).cloned(),
        chosen => Some(TraceId::new(chosen)),
    };
    let (slot, open) = match &open {
        Some(id) => {
            let OpenTrace { slot, trace, given } = OpenTrace::read(&visit, id).await?;
            (slot, Some((trace, given)))
        }
        None => (visit.slot().await?, None),
    };
    let last = match visit.query.get("last") {
        "" => None,
        id => match engine.get_trace(&visit.project, &TraceId::new(id)).await {
            // It was deleted meanwhile.
            Err(error) if error.code() == ErrorCode::NotFound => None,
            trace => Some(trace?),
        },
    };
    let own = last.filter(|trace| is_own(trace, &visit));
    let frame = visit.frame().await?;
    let desk = ReviewDesk {
        is_own: open
            .as_ref()
            .is_some_and(|(trace, _)| is_own(trace, &visit)),
        queue: &queue,
        open: open
            .as_ref()
            .map(|(trace, given)| (trace, given.as_slice())),
        last: own.as_ref(),
        has_traces: !queue.is_empty() || visit.has_traces().await?,
        skipped: &skipped,
    };
    let first = visit.first_trace();
    let page = ReviewPage::new(frame, &desk, first, Timestamp::now());
    Ok(long_page(slot, &page))
}

/// Reviews a trace, and goes on to the next one.
pub(super) async fn review(change: Change) -> Result<Response, Problem> {
    let Change { visit, form } = change;
    visit.require::<ReviewTrace>()?;
    let verdict: Verdict = form
        .get("verdict")
        .parse()
        .map_err(|error: UnknownVerdict| ApiError::field("verdict", error.to_string()))?;
    let id = TraceId::new(visit.segment("trace_id"));
    let engine = visit.engine();
    let open = read(&visit, &id).await?;
    let mut review = Review::new(verdict);
    let is_own = |trace: &Trace| is_own(trace, &visit);
    // A verdict that is confirmed without a word keeps the judge's. Those of an error say nothing.
    let is_of_error = Interruption::of(&open.metadata).is_some();
    let confirmed = open.review.as_ref();
    let confirmed = confirmed.filter(|by| by.result == verdict && !is_of_error);
    let confirmed = confirmed.and_then(|review| review.feedback_text.as_deref());
    let feedback = match form.get("feedback").trim() {
        "" => confirmed.unwrap_or_default(),
        feedback => feedback,
    };
    if !feedback.is_empty() {
        review = review.feedback(feedback);
    }
    bound_alpha(&visit.caller, &visit.project, &mut review, &visit.app).await?;
    let late = || {
        let problem = "a person has reviewed this run meanwhile: yours was not saved. Copy your words, and load the page again";
        Problem::from(ApiError::conflict(problem))
    };
    if open.review.as_ref().is_some_and(ReviewRecord::is_by_person) {
        return Err(late());
    }
    let words = review.feedback_text.clone();
    let reviewed = engine.review_trace(&visit.project, &id, review).await?;
    // `review_trace` also returns the review of another caller with the same verdict.
    let stored = reviewed.review.as_ref();
    let stored = stored.and_then(|review| review.feedback_text.as_ref());
    if !is_own(&reviewed) || words.is_some_and(|words| stored != Some(&words)) {
        return Err(late());
    }
    // What there is to learn most from may be another run by now.
    let queue = engine.review_queue(&visit.project).await?;
    let skipped: Vec<&str> = form.all("skipped").collect();
    let next = next(&queue, &skipped).map_or("", TraceId::as_str);
    let address = review_address(visit.project.as_str(), next, id.as_str(), &skipped);
    Ok(redirect(&address))
}

/// Undoes a review of this visitor: utilities become what they were, and the trace waits again, or has the
/// review of a model that it had before.
pub(super) async fn undo(change: Change) -> Result<Response, Problem> {
    let Change { visit, form } = change;
    visit.require::<ReviewTrace>()?;
    let id = TraceId::new(visit.segment("trace_id"));
    let trace = read(&visit, &id).await?;
    let shown = form.get("review");
    if trace
        .review
        .as_ref()
        .is_none_or(|review| review.id != shown)
    {
        let problem = "this review was replaced or withdrawn meanwhile: load the page again";
        return Err(ApiError::conflict(problem).into());
    }
    if !is_own(&trace, &visit) {
        let problem = "only a review of your own key can be undone here: see Undo";
        return Err(ApiError::forbidden(problem).into());
    }
    let engine = visit.engine();
    let overruled = trace
        .review
        .is_some_and(|review| review.overruled.is_some());
    let undone = if overruled {
        let undo = Undo {
            key_id: Some(visit.caller.key().clone()),
            reviewer: Some(Reviewer::Human),
            trace_id: Some(id.clone()),
            ..Undo::default()
        };
        engine.undo(&visit.project, &undo).await.map(drop)
    } else {
        let is_meant = |review: &ReviewRecord| review.id == shown && is_by(review, &visit);
        let withdrawn = engine.withdraw_review_if(&visit.project, &id, is_meant);
        withdrawn.await.map(drop)
    };
    undone?;
    let address = review_address(visit.project.as_str(), id.as_str(), "", &[]);
    Ok(redirect(&address))
}

async fn read(visit: &Visit, id: &TraceId) -> Result<Trace, Problem> {
    Ok(visit.engine().get_trace(&visit.project, id).await?)
}

/// Whether the review of a trace was given with the visitor's key.
pub(super) fn is_own(trace: &Trace, visit: &Visit) -> bool {
    let review = trace.review.as_ref();
    review.is_some_and(|review| is_by(review, visit))
}

fn is_by(review: &ReviewRecord, visit: &Visit) -> bool {
    review.key_id.as_ref() == Some(visit.caller.key()) && review.is_by_person()
}
