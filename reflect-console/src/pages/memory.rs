use askama::Template;
use jiff::Timestamp;
use reflect_types::{ApiKey, MemoryHistory, MemoryRecord, MemoryStatus};

use crate::card::{MemoryCard, teacher};
use crate::change::Change;
use crate::comparison::Comparison;
use crate::frame::Frame;
use crate::key_name::key_name;
use crate::path::in_project;
use crate::plot::UtilityPlot;
use crate::text::{count, shown};
use crate::time::When;

/// The events and changes that the page lists.
const MAX_LISTED: usize = 50;

/// A memory: its text, its utility over time, where it comes from and who changed it.
#[derive(Debug, Template)]
#[template(path = "memory.html")]
pub struct MemoryPage {
    frame: Frame,
    id: String,
    card: MemoryCard,
    task: String,
    feedback: String,
    summary: String,
    key_mistake: String,
    correct_action: String,
    guidance: String,
    tools: String,
    written_by: String,
    when: When,
    trace: String,
    key: String,
    given_to: String,
    plot: Option<UtilityPlot>,
    /// The address of this page.
    own: String,
    pairs: Vec<Comparison>,
    /// The memories that it stands for.
    merged: String,
    events: Vec<Event>,
    changes: Vec<Change>,
    similar: String,
    edit: String,
    status: String,
    /// Whether it waits for approval.
    is_staged: bool,
    delete: String,
}

#[derive(Debug)]
struct Event {
    trace: String,
    passed: bool,
    before: String,
    after: String,
    by: String,
    when: When,
}

impl MemoryPage {
    /// The page of a memory. `others` has the one that it is merged into, or some that are merged into it.
    pub fn new(
        frame: Frame,
        history: &MemoryHistory,
        others: &[MemoryRecord],
        keys: &[ApiKey],
        now: Timestamp,
    ) -> Self {
        let memory = &history.memory;
        let id = memory.id.as_str();
        let address = |page: &str| in_project(&frame.project, &["memories", id, page]);
        let reflection = &memory.reflection;
        let mut values: Vec<f64> = history.events.iter().map(|event| event.after).collect();
        if let Some(first) = history.events.first() {
            values.insert(0, first.before);
        }
        let events = history
            .events
            .iter()
            .rev()
            .take(MAX_LISTED)
            .map(|event| Event {
                trace: frame.to_trace(event.trace_id.as_str()),
                passed: event.reward > 0.5,
                before: format!("{:.2}", event.before),
                after: format!("{:.2}", event.after),
                by: teacher(event.reviewer.as_ref()),
                when: When::at(&event.created_at, now),
            });
        let changes = history.changes.iter().rev().take(MAX_LISTED);
        Self {
            card: MemoryCard::of_history(&frame, history),
            task: shown(&memory.task),
            feedback: shown(&reflection.feedback),
            summary: shown(&reflection.summary),
            key_mistake: shown(&reflection.key_mistake),
            correct_action: shown(&reflection.correct_action),
            guidance: shown(&reflection.guidance),
            tools: shown(&reflection.applicable_tools.join(", ")),
            written_by: shown(&reflection.written_by),
            when: When::at(&memory.created_at, now),
            trace: frame.to_trace(memory.trace_id.as_str()),
            key: memory
                .key_id
                .as_ref()
                .map(|key| key_name(keys, key))
                .unwrap_or_default(),
            given_to: count(history.events.len(), "reviewed run", "reviewed runs"),
            plot: UtilityPlot::new(&values),
            own: frame.to_memory(id),
            pairs: others
                .iter()
                .map(|other| match memory.merged_into {
                    Some(_) => Comparison::new(&frame, other, memory),
                    None => Comparison::new(&frame, memory, other),
                })
                .collect(),
            merged: match history.merged.len() {
                0 => String::new(),
                MemoryHistory::MAX_MERGED => format!("{} or more", MemoryHistory::MAX_MERGED),
                merged => merged.to_string(),
            },
            events: events.collect(),
            changes: changes
                .map(|change| Change::new(change, keys, now))
                .collect(),
            similar: address("similar"),
            edit: address("edit"),
            status: address("status"),
            is_staged: memory.status == MemoryStatus::Staged,
            delete: address("delete"),
            id: shown(id),
            frame: frame.on("memories"),
        }
    }

    fn is_aside(&self) -> bool {
        self.card.aside.is_some()
    }
}

/// The memories that could be merged into one, as a part of its page.
#[derive(Debug, Template)]
#[template(path = "parts/similar.html")]
pub struct SimilarMemories {
    frame: Frame,
    own: String,
    pairs: Vec<Comparison>,
}

impl SimilarMemories {
    /// The part of this memory.
    pub fn new(frame: Frame, memory: &MemoryRecord, similar: &[MemoryRecord]) -> Self {
        let pairs = similar.iter();
        Self {
            own: frame.to_memory(memory.id.as_str()),
            pairs: pairs
                .map(|other| Comparison::new(&frame, memory, other))
                .collect(),
            frame,
        }
    }
}

/// The status that a form asks for: `quarantine` or `restore`.
pub fn status_of(action: &str) -> Option<MemoryStatus> {
    match action {
        "quarantine" => Some(MemoryStatus::Quarantined),
        "restore" => Some(MemoryStatus::Active),
        _ => None,
    }
}
