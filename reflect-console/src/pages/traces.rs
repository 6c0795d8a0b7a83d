use askama::Template;
use jiff::Timestamp;
use reflect_engine::store::{TraceFilter, TraceSearch};
use reflect_types::{IngestStatus, Page, Reviewer, TraceId, TraceOverview, Verdict};

use super::FirstTrace;
use crate::frame::Frame;
use crate::path::query;
use crate::text::{line, shown};
use crate::time::When;

/// The filters of the list, as its address has them.
#[derive(Clone, Debug, Default)]
pub struct TraceFilters {
    /// Words of the task.
    pub q: String,
    /// The kind of traces, such as `waiting` or `failed`.
    pub state: String,
    /// The model.
    pub model: String,
    /// The session.
    pub session: String,
    /// The last trace of the previous page.
    pub before: String,
}

/// The name in the address, the label and the filter of each kind.
const KINDS: [(&str, &str, TraceFilter); 5] = [
    ("waiting", "Waiting", TraceFilter::Waiting),
    ("passed", "Passed", TraceFilter::Passed),
    ("failed", "Failed", TraceFilter::Failed),
    ("judged", "Reviewed by a model", TraceFilter::Judged),
    ("not-learned", "Not learned from", TraceFilter::NotLearned),
];

impl TraceFilters {
    /// The search that these filters describe. Unknown kinds filter nothing.
    pub fn search(&self) -> TraceSearch {
        let kind = KINDS.iter().find(|(name, ..)| *name == self.state);
        let some = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        TraceSearch {
            text: self.q.clone(),
            filter: kind.map(|(.., filter)| *filter),
            model: some(&self.model),
            session: some(&self.session),
            before: some(&self.before).map(TraceId::new),
            limit: TraceSearch::DEFAULT_LIMIT,
        }
    }

    fn is_set(&self) -> bool {
        let set = [&self.state, &self.model, &self.session];
        !self.q.trim().is_empty() || set.iter().any(|filter| !filter.is_empty())
    }
}

/// The list of traces.
#[derive(Debug, Template)]
#[template(path = "traces.html")]
pub struct TracesPage {
    frame: Frame,
    filters: TraceFilters,
    kinds: Vec<(&'static str, &'static str)>,
    models: Vec<String>,
    rows: Vec<Row>,
    next: Option<String>,
    first: FirstTrace,
}

#[derive(Debug)]
struct Row {
    address: String,
    task: String,
    state: &'static str,
    class: &'static str,
    /// Who reviewed it, if it was no person.
    by: Option<(&'static str, &'static str)>,
    model: String,
    given: u64,
    when: When,
}

impl TracesPage {
    /// The page of a list.
    pub fn new(
        frame: Frame,
        filters: TraceFilters,
        models: Vec<String>,
        page: &Page<TraceOverview>,
        first: FirstTrace,
        now: Timestamp,
    ) -> Self {
        let next = page.cursor().map(|last| {
            let (q, state) = (&filters.q, &filters.state);
            let (model, session) = (&filters.model, &filters.session);
            let before = last.id.as_str();
            let parameters = [
                ("q", q.as_str()),
                ("state", state),
                ("model", model),
                ("session", session),
                ("before", before),
            ];
            format!("{}{}", frame.to("traces"), query(&parameters))
        });
        let rows = page
            .iter()
            .map(|trace| Row::new(&frame, trace, now))
            .collect();
        Self {
            kinds: KINDS
                .iter()
                .map(|(name, label, _)| (*name, *label))
                .collect(),
            frame: frame.on("traces"),
            filters,
            // A name with hidden characters could not be told from another one.
            models: models
                .into_iter()
                .filter(|model| shown(model) == *model)
                .collect(),
            rows,
            next,
            first,
        }
    }

    fn is_new(&self) -> bool {
        self.rows.is_empty() && !self.filters.is_set() && self.filters.before.is_empty()
    }
}

impl Row {
    fn new(frame: &Frame, trace: &TraceOverview, now: Timestamp) -> Self {
        let (state, class) = state(trace);
        Self {
            address: frame.to_trace(trace.id.as_str()),
            task: line(&trace.task, 160),
            state,
            class,
            by: match trace.reviewer {
                Some(Reviewer::Model(_)) => Some(("judge", "Reviewed by a model")),
                Some(Reviewer::Program) => Some(("program", "Reviewed by the program that ran it")),
                _ => None,
            },
            model: trace.model.as_deref().map(shown).unwrap_or_default(),
            given: trace.given,
            when: When::at(&trace.created_at, now),
        }
    }
}

/// The state of a trace in a word, and the class of its colour.
pub(super) fn state(trace: &TraceOverview) -> (&'static str, &'static str) {
    match (&trace.ingest_status, trace.verdict) {
        (IngestStatus::Failed, _) => ("not learned", "warn"),
        (IngestStatus::Queued | IngestStatus::Processing, _) => ("learning", ""),
        (_, Some(Verdict::Pass)) => ("pass", "pass"),
        (_, Some(Verdict::Fail)) => ("fail", "fail"),
        _ => ("waiting", ""),
    }
}
