use askama::Template;
use jiff::Timestamp;
use reflect_engine::Appraisal;
use reflect_types::{
    ApiKey, Arm, IngestStatus, KeyId, MemoryRecord, Reviewer, Trace, TraceId, TraceTree, TreeRun,
    Verdict,
};

use crate::card::{MemoryCard, teacher};
use crate::frame::Frame;
use crate::key_name::key_name;
use crate::path::{in_project, query, review_address, undo_address};
use crate::replay::{Step, steps};
use crate::text::{count, line, shown, tokens};
use crate::time::When;

/// The most runs around a trace that its page shows.
const MAX_AROUND: usize = 100;

/// A trace: its replay, the memories it was given, its review and what came of it.
#[derive(Debug, Template)]
#[template(path = "trace.html")]
pub struct TracePage {
    frame: Frame,
    id: String,
    head: Head,
    steps: Vec<Step>,
    given: Vec<MemoryCard>,
    /// Given memories that have been deleted.
    lost: usize,
    /// Whether it was given no memories on purpose.
    is_control: bool,
    /// Where it can be reviewed, if it waits for a person's review.
    review_page: Option<String>,
    /// The key that recorded it.
    recorded_by: Option<String>,
    learned: Option<MemoryCard>,
    review: Option<ReviewView>,
    /// The address and the id of the visitor's own review, which can be undone.
    undo: Option<(String, String)>,
    raw: String,
    json: String,
    /// The session, and the list of its runs.
    session: Option<(String, String)>,
    around: Vec<AroundRun>,
    /// The run around them that has not arrived.
    missing_run: Option<String>,
    /// Whether there are more runs around it.
    more_around: bool,
    metadata: String,
    rules: Option<String>,
}

/// A run that the trace is a part of, or that is a part of it.
#[derive(Debug)]
struct AroundRun {
    /// `None` for the trace itself.
    address: Option<String>,
    indent: String,
    task: String,
    state: &'static str,
    class: &'static str,
}

/// What the page of a trace is made of.
#[derive(Clone, Copy, Debug)]
pub struct TraceSource<'a> {
    /// The trace.
    pub trace: &'a Trace,
    /// The runs around it.
    pub tree: &'a TraceTree,
    /// The memories that it was given and that still exist, in their order, as they are now.
    pub given: &'a [Appraisal],
    /// The memory that was learned from it.
    pub learned: Option<&'a MemoryRecord>,
    /// The keys whose labels the visitor may know.
    pub keys: &'a [ApiKey],
    /// Whether the visitor has reviewed it.
    pub is_own: bool,
}

/// What the header of a trace says.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) title: String,
    /// The whole task, if the title is only its beginning.
    pub(crate) task: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) steps: String,
    pub(crate) given: String,
    pub(crate) tokens: Option<String>,
    pub(crate) when: Option<When>,
    pub(crate) state: &'static str,
    pub(crate) class: &'static str,
    /// Why nothing was learned, or why the judge gave no review.
    pub(crate) error: Option<String>,
}

/// A review as a page shows it.
#[derive(Debug)]
pub(crate) struct ReviewView {
    pub(crate) verdict: &'static str,
    pub(crate) class: &'static str,
    pub(crate) by: String,
    pub(crate) key: Option<KeyId>,
    /// How its key is called.
    pub(crate) key_name: String,
    pub(crate) comment: String,
    /// The verdict of a model that it replaced.
    pub(crate) overruled: Option<String>,
}

impl TracePage {
    /// The page of a trace.
    pub fn new(frame: Frame, source: TraceSource<'_>, now: Timestamp) -> Self {
        let TraceSource {
            trace,
            tree,
            given,
            learned,
            keys,
            is_own,
        } = source;
        let is_alone = tree.runs.len() < 2 && tree.missing_run_id.is_none();
        let address = |page: &str| in_project(&frame.project, &["traces", trace.id.as_str(), page]);
        Self {
            id: shown(trace.id.as_str()),
            head: Head::new(trace, now),
            steps: steps(&trace.trajectory, &trace.final_response),
            given: given
                .iter()
                .map(|appraisal| MemoryCard::appraised(&frame, appraisal))
                .collect(),
            is_control: trace.arm == Some(Arm::Control),
            review_page: (frame.may.review && awaits_a_person(trace))
                .then(|| review_address(&frame.project, trace.id.as_str(), "", &[])),
            recorded_by: trace.key_id.as_ref().map(|key| key_name(keys, key)),
            undo: trace
                .review
                .as_ref()
                .filter(|_| is_own && frame.may.review)
                .map(|review| {
                    let address = undo_address(&frame.project, trace.id.as_str());
                    (address, review.id.clone())
                }),
            lost: trace.retrieved_memory_ids.len().saturating_sub(given.len()),
            learned: learned.map(|memory| MemoryCard::new(&frame, memory)),
            review: trace
                .review
                .as_ref()
                .map(|review| ReviewView::new(review).with_names(keys)),
            session: trace.session_id.as_deref().map(|session| {
                let list = query(&[("session", session)]);
                (shown(session), format!("{}{list}", frame.to("traces")))
            }),
            around: if is_alone {
                Vec::new()
            } else {
                let shown = tree.runs.iter().take(MAX_AROUND);
                shown
                    .map(|run| AroundRun::new(&frame, run, &trace.id))
                    .collect()
            },
            missing_run: tree.missing_run_id.as_deref().map(shown),
            more_around: tree.more || tree.runs.len() > MAX_AROUND,
            raw: address("raw"),
            json: address("json"),
            metadata: if trace.metadata.is_empty() {
                String::new()
            } else {
                shown(&serde_json::to_string_pretty(&trace.metadata).unwrap_or_default())
            },
            rules: trace.reference_context.as_deref().map(shown),
            frame: frame.on("traces"),
        }
    }
}

impl AroundRun {
    fn new(frame: &Frame, run: &TreeRun, open: &TraceId) -> Self {
        const MAX_INDENT: u32 = 10;

        let TreeRun { depth, trace } = run;
        let (state, class) = super::traces::state(trace);
        Self {
            address: (trace.id != *open).then(|| frame.to_trace(trace.id.as_str())),
            indent: "\u{a0}\u{a0}".repeat((*depth).min(MAX_INDENT) as usize),
            task: line(&trace.task, 80),
            state,
            class,
        }
    }
}

impl Head {
    pub(crate) fn new(trace: &Trace, now: Timestamp) -> Self {
        const MAX_TITLE: usize = 140;

        let title = line(&trace.task, MAX_TITLE);
        let is_cut = title != trace.task;
        let given = match trace.retrieved_memory_ids.len() {
            0 => "no memories given".to_owned(),
            given => format!("{} given", count(given, "memory", "memories")),
        };
        let (state, class) = state(trace);
        let error = trace
            .last_ingest_error
            .as_ref()
            .or(trace.judge_error.as_ref());
        Self {
            title,
            task: is_cut.then(|| shown(&trace.task)),
            model: trace.model.as_deref().map(shown),
            steps: count(trace.trajectory.len(), "step", "steps"),
            given,
            tokens: trace.usage.map(tokens),
            when: trace.created_at.as_deref().map(|at| When::at(at, now)),
            state,
            class,
            error: error.map(|error| shown(error)),
        }
    }
}

impl ReviewView {
    /// The same with the name of its key.
    fn with_names(self, keys: &[ApiKey]) -> Self {
        let key_name = self.key.as_ref().map(|key| key_name(keys, key));
        Self {
            key_name: key_name.unwrap_or_default(),
            ..self
        }
    }

    pub(crate) fn new(review: &reflect_types::ReviewRecord) -> Self {
        let (verdict, class) = verdict(review.result);
        Self {
            verdict,
            class,
            by: teacher(review.reviewer.as_ref()),
            key: review.key_id.clone(),
            key_name: String::new(),
            comment: shown(review.feedback_text.as_deref().unwrap_or_default()),
            overruled: review.overruled.as_ref().map(|overruled| {
                let judge = shown(&overruled.model);
                if overruled.result == review.result {
                    format!("A person confirmed the verdict of judge {judge}.")
                } else {
                    format!(
                        "Judge {judge} said {}; a person overruled it.",
                        overruled.result
                    )
                }
            }),
        }
    }
}

pub(crate) fn verdict(verdict: Verdict) -> (&'static str, &'static str) {
    match verdict {
        Verdict::Pass => ("pass", "pass"),
        Verdict::Fail => ("fail", "fail"),
        _ => ("unknown", ""),
    }
}

/// Whether no person has reviewed the trace, and nothing is on its way.
fn awaits_a_person(trace: &Trace) -> bool {
    let by_model =
        |review: &reflect_types::ReviewRecord| matches!(review.reviewer, Some(Reviewer::Model(_)));
    trace.ingest_status == IngestStatus::Completed && trace.review.as_ref().is_none_or(by_model)
}

fn state(trace: &Trace) -> (&'static str, &'static str) {
    match (&trace.ingest_status, &trace.review) {
        (IngestStatus::Failed, _) => ("not learned", "warn"),
        (IngestStatus::Queued | IngestStatus::Processing, _) => ("learning", ""),
        (_, Some(review)) => verdict(review.result),
        (_, None) => ("waiting", ""),
    }
}

/// The JSON of a trace, as a part of its page.
#[derive(Debug, Template)]
#[template(path = "parts/raw.html")]
pub struct RawTrace {
    /// The text.
    text: String,
    is_whole: bool,
}

/// The characters of a trace's JSON that its page shows.
const MAX_RAW: usize = 200_000;

impl RawTrace {
    /// The part of this trace.
    pub fn new(trace: &Trace) -> Self {
        let text = serde_json::to_string_pretty(trace).unwrap_or_default();
        let shown_part: String = text.chars().take(MAX_RAW).collect();
        Self {
            is_whole: shown_part.len() == text.len(),
            text: shown(&shown_part),
        }
    }
}
