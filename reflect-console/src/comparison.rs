//! Two memories side by side: one that stands, and one that is merged into it or could be.

use reflect_types::MemoryRecord;

use crate::card::MemoryCard;
use crate::frame::Frame;
use crate::path::in_project;
use crate::text::shown;

/// A memory that stands for another one, or could.
#[derive(Debug)]
pub(crate) struct Comparison {
    /// The addresses of the two.
    pub(crate) stands: String,
    pub(crate) merged: String,
    /// The id of the one that stands.
    pub(crate) into: String,
    pub(crate) is_merged: bool,
    /// Where the merged one is restored, and then stands by itself; or where it is merged.
    pub(crate) action: String,
    /// Where the one that stands is merged into the other one, and the id of that one.
    pub(crate) turned: String,
    pub(crate) other: String,
    /// Whether the one that could be merged was tested in more runs.
    pub(crate) loses_more: bool,
    pub(crate) rows: Vec<Row>,
}

/// What the two say, or have, of one kind.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) stands: String,
    pub(crate) merged: String,
    pub(crate) is_same: bool,
}

impl Comparison {
    pub(crate) fn new(frame: &Frame, stands: &MemoryRecord, merged: &MemoryRecord) -> Self {
        let id = merged.id.as_str();
        let is_merged = merged.merged_into.is_some();
        let action = if is_merged { "status" } else { "merge" };
        Self {
            stands: frame.to_memory(stands.id.as_str()),
            merged: frame.to_memory(id),
            into: stands.id.to_string(),
            is_merged,
            action: in_project(&frame.project, &["memories", id, action]),
            turned: in_project(&frame.project, &["memories", stands.id.as_str(), "merge"]),
            other: id.to_owned(),
            loses_more: merged.uses > stands.uses,
            rows: rows(frame, stands, merged),
        }
    }
}

type Text = fn(&MemoryRecord) -> String;

/// The rows in which at least one of them has something.
fn rows(frame: &Frame, stands: &MemoryRecord, merged: &MemoryRecord) -> Vec<Row> {
    let kinds: [(&str, Text); 6] = [
        ("Task", |memory| shown(&memory.task)),
        ("Reviewer", |memory| shown(&memory.reflection.feedback)),
        ("Next time", |memory| shown(&memory.reflection.guidance)),
        ("Summary", |memory| shown(&memory.reflection.summary)),
        ("Mistake", |memory| shown(&memory.reflection.key_mistake)),
        ("Instead", |memory| shown(&memory.reflection.correct_action)),
    ];
    let cards = [stands, merged].map(|memory| MemoryCard::new(frame, memory));
    let [a, b] = cards.map(|card| format!("{}, {}", card.utility, card.uses));
    let verdict = |memory: &MemoryRecord| {
        let verdict = if memory.success { "a pass" } else { "a fail" };
        verdict.to_owned()
    };
    kinds
        .into_iter()
        .map(|(name, of)| (name, of(stands), of(merged)))
        .chain([("Learned from", verdict(stands), verdict(merged))])
        .chain([("Utility", a, b)])
        .filter(|(_, stands, merged)| !stands.trim().is_empty() || !merged.trim().is_empty())
        .map(|(name, stands, merged)| Row {
            name,
            is_same: stands == merged,
            stands,
            merged,
        })
        .collect()
}
