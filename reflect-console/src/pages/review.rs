use askama::Template;
use jiff::Timestamp;
use reflect_engine::store::TraceSearch;
use reflect_engine::{Appraisal, QueuedReview};
use reflect_types::{Trace, TraceId, Verdict};

use super::FirstTrace;
use super::trace::{Head, ReviewView, verdict};
use crate::card::MemoryCard;
use crate::frame::Frame;
use crate::path::{in_project, review_address, undo_address};
use crate::replay::{Step, steps};
use crate::text::{count, grouped, line, shown};
use crate::time::When;

/// The traces that the left column lists.
const MAX_LISTED: usize = 40;
/// The skipped traces that are remembered.
const MAX_SKIPPED: usize = 50;

/// The review queue: what waits, the replay of one trace, and the memories it was given.
#[derive(Debug, Template)]
#[template(path = "review.html")]
pub struct ReviewPage {
    frame: Frame,
    total: String,
    items: Vec<Item>,
    desk: Option<Desk>,
    last: Option<Last>,
    first: FirstTrace,
    has_traces: bool,
}

#[derive(Debug)]
struct Item {
    address: String,
    task: String,
    reason: String,
    suggestion: Option<(&'static str, &'static str)>,
    when: When,
    is_open: bool,
}

/// The trace under review.
#[derive(Debug)]
struct Desk {
    id: String,
    head: Head,
    steps: Vec<Step>,
    given: Vec<MemoryCard>,
    /// The review of a model, to be confirmed or replaced.
    suggestion: Option<ReviewView>,
    /// The review of a person, in place of the form for one.
    done: Option<Done>,
    action: String,
    skip: String,
    /// The ids of the traces that the visitor has skipped.
    skipped: Vec<String>,
    reason: String,
}

/// The review that a trace has.
#[derive(Debug)]
struct Done {
    view: ReviewView,
    /// The address and the id of the visitor's own, which can be undone.
    undo: Option<(String, String)>,
}

/// The last review of this visitor, which can be undone.
#[derive(Debug)]
struct Last {
    text: String,
    moved: String,
    undo: String,
    trace: String,
    /// What was said, for another review.
    words: String,
    /// The review that is undone, and no later one.
    review: String,
}

/// What the page of the queue shows.
#[derive(Debug)]
pub struct ReviewDesk<'a> {
    /// The queue.
    pub queue: &'a [QueuedReview],
    /// The trace under review, and what is known about the memories it was given.
    pub open: Option<(&'a Trace, &'a [Appraisal])>,
    /// The last trace that this visitor has reviewed.
    pub last: Option<&'a Trace>,
    /// Whether the visitor has reviewed the opened trace.
    pub is_own: bool,
    /// Whether the project has any trace.
    pub has_traces: bool,
    /// The traces that the visitor has skipped, the last one last.
    pub skipped: &'a [&'a str],
}

impl ReviewPage {
    /// The page.
    pub fn new(frame: Frame, desk: &ReviewDesk<'_>, first: FirstTrace, now: Timestamp) -> Self {
        let last_id = desk.last.map_or("", |trace| trace.id.as_str());
        let skipped = desk.skipped;
        let to = |id: &str| review_address(&frame.project, id, last_id, skipped);
        let open_id = desk.open.map(|(trace, _)| &trace.id);
        let items = desk.queue.iter().take(MAX_LISTED).map(|queued| {
            let trace = &queued.waiting.trace;
            Item {
                address: to(trace.id.as_str()),
                task: line(&trace.task, 90),
                reason: queued.reason.to_string(),
                suggestion: queued
                    .waiting
                    .suggestion
                    .as_ref()
                    .map(|s| verdict(s.result)),
                when: When::at(&trace.created_at, now),
                is_open: Some(&trace.id) == open_id,
            }
        });
        let mut skipping = skipped.to_vec();
        skipping.retain(|id| Some(*id) != open_id.map(TraceId::as_str));
        skipping.extend(open_id.map(TraceId::as_str));
        skipping.drain(..skipping.len().saturating_sub(MAX_SKIPPED));
        let next = next(desk.queue, &skipping);
        let next = next.map_or("", TraceId::as_str);
        let skip = review_address(&frame.project, next, last_id, &skipping);
        let opened = desk.open.map(|(trace, given)| {
            let queued = desk
                .queue
                .iter()
                .find(|queued| queued.waiting.trace.id == trace.id);
            Desk {
                id: shown(trace.id.as_str()),
                head: Head::new(trace, now),
                steps: steps(&trace.trajectory, &trace.final_response),
                given: given
                    .iter()
                    .map(|memory| MemoryCard::appraised(&frame, memory))
                    .collect(),
                suggestion: trace
                    .review
                    .as_ref()
                    .filter(|review| !review.is_by_person())
                    .map(ReviewView::new),
                done: trace
                    .review
                    .as_ref()
                    .filter(|review| review.is_by_person())
                    .map(|review| Done {
                        view: ReviewView::new(review),
                        undo: desk.is_own.then(|| {
                            (
                                undo_address(&frame.project, trace.id.as_str()),
                                review.id.clone(),
                            )
                        }),
                    }),
                action: in_project(&frame.project, &["review", trace.id.as_str()]),
                skip,
                skipped: skipped.iter().map(|id| (*id).to_owned()).collect(),
                reason: queued
                    .map(|queued| queued.reason.to_string())
                    .unwrap_or_default(),
            }
        });
        Self {
            total: total(frame.waiting, desk.queue),
            items: items.collect(),
            desk: opened,
            last: desk.last.and_then(|trace| Last::new(&frame, trace)),
            first,
            has_traces: desk.has_traces,
            frame: frame.on("review"),
        }
    }
}

impl Last {
    fn new(frame: &Frame, trace: &Trace) -> Option<Self> {
        let review = trace.review.as_ref()?;
        let word = match review.result {
            Verdict::Pass => "Passed",
            _ => "Failed",
        };
        let moved = trace.retrieved_memory_ids.len()
            - trace
                .ignored_memory_ids
                .len()
                .min(trace.retrieved_memory_ids.len());
        Some(Self {
            text: format!("{word} “{}”", line(&trace.task, 60)),
            moved: match moved {
                0 => "a new memory".to_owned(),
                moved => format!("{} moved", count(moved, "memory", "memories")),
            },
            undo: undo_address(&frame.project, trace.id.as_str()),
            trace: shown(trace.id.as_str()),
            words: shown(review.feedback_text.as_deref().unwrap_or_default()),
            review: review.id.clone(),
        })
    }
}

/// What waits, and what a judge has reviewed.
fn total(waiting: u64, queue: &[QueuedReview]) -> String {
    let more = if waiting >= TraceSearch::MAX_COUNTED {
        "+"
    } else {
        ""
    };
    let suggested = queue.iter().filter(|q| q.waiting.suggestion.is_some());
    let waiting = format!("{}{more} waiting", grouped(waiting));
    match suggested.count() {
        0 => waiting,
        suggested => format!("{waiting}, {suggested} to confirm"),
    }
}

/// The first trace of the queue that was not skipped; after all of them, the one that was skipped first.
pub fn next<'a>(queue: &'a [QueuedReview], skipped: &[&str]) -> Option<&'a TraceId> {
    let ids = || queue.iter().map(|queued| &queued.waiting.trace.id);
    let is_new = |id: &&TraceId| !skipped.contains(&id.as_str());
    let skipped = || {
        skipped
            .iter()
            .find_map(|one| ids().find(|id| id.as_str() == *one))
    };
    ids().find(is_new).or_else(skipped)
}
