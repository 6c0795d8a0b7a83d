//! A memory in a list.

use reflect_engine::Appraisal;
use reflect_types::{ChangeKind, MemoryHistory, MemoryRecord, MemoryStatus, Reviewer};

use crate::frame::Frame;
use crate::text::{count, line, shown};

/// The longest headline of a card, in characters.
const MAX_HEADLINE: usize = 300;
/// The longest detail of a card, in characters.
const MAX_DETAIL: usize = 180;

/// A memory as a card.
#[derive(Clone, Debug)]
pub(crate) struct MemoryCard {
    pub(crate) address: String,
    pub(crate) success: bool,
    /// Whether it is kept out of answers, in a word.
    pub(crate) aside: Option<&'static str>,
    /// Why, if it is known.
    pub(crate) aside_reason: String,
    /// Who taught it.
    pub(crate) teacher: String,
    /// The advice, or the reviewer's words.
    pub(crate) headline: String,
    pub(crate) detail: String,
    pub(crate) utility: String,
    /// The utility in percent.
    pub(crate) percent: u32,
    /// How often it was tested.
    pub(crate) uses: String,
    /// What it is worth for the task at hand, and how similar its own is.
    pub(crate) here: Option<(String, String)>,
}

impl MemoryCard {
    /// The card of a memory with what is known about it for a task.
    pub(crate) fn appraised(frame: &Frame, appraisal: &Appraisal) -> Self {
        let card = Self::new(frame, &appraisal.memory);
        let uses = match appraisal.evidence {
            Some(evidence) if evidence.runs > 0 => {
                format!("{} of {} passed", evidence.passed, evidence.runs)
            }
            _ => card.uses,
        };
        let here = match (appraisal.score, appraisal.similarity) {
            (Some(score), Some(similarity)) => {
                Some((format!("{score:.2}"), format!("{similarity:.2}")))
            }
            _ => None,
        };
        Self { uses, here, ..card }
    }

    /// The card of a memory with its history: a person's quarantine has a reason there.
    pub(crate) fn of_history(frame: &Frame, history: &MemoryHistory) -> Self {
        let card = Self::new(frame, &history.memory);
        if card.aside.is_none() || !card.aside_reason.is_empty() {
            return card;
        }
        let mut changes = history.changes.iter().rev();
        let last = changes.find(|change| change.kind == ChangeKind::Quarantined);
        let note = last.and_then(|change| change.note.as_deref());
        let aside_reason = match note {
            Some(note) => format!("by a person: {}", line(note, MAX_DETAIL)),
            None => "by a person".to_owned(),
        };
        Self {
            aside_reason,
            ..card
        }
    }

    pub(crate) fn new(frame: &Frame, memory: &MemoryRecord) -> Self {
        let reflection = &memory.reflection;
        let mut texts = [
            &reflection.feedback,
            &reflection.guidance,
            &reflection.summary,
        ]
        .into_iter()
        .filter(|text| !text.trim().is_empty());
        let headline = texts.next().unwrap_or(&memory.task);
        let detail = texts.next().map_or("", String::as_str);
        Self {
            address: frame.to_memory(memory.id.as_str()),
            success: memory.success,
            aside: aside(memory),
            aside_reason: memory
                .aside
                .as_ref()
                .map(|aside| shown(&aside.reason))
                .unwrap_or_default(),
            teacher: teacher(memory.reviewer.as_ref()),
            headline: line(headline, MAX_HEADLINE),
            detail: line(detail, MAX_DETAIL),
            utility: format!("{:.2}", memory.q_value),
            percent: percent(memory.q_value),
            uses: match memory.uses {
                0 => "never tested".to_owned(),
                uses => count(usize::try_from(uses).unwrap_or(usize::MAX), "use", "uses"),
            },
            here: None,
        }
    }
}

/// How a memory is kept out of answers; `None` if it is not.
fn aside(memory: &MemoryRecord) -> Option<&'static str> {
    match memory.status {
        MemoryStatus::Active if memory.aside.is_none() => None,
        MemoryStatus::Archived => Some("archived"),
        MemoryStatus::Merged => Some("merged"),
        MemoryStatus::Staged => Some("waiting for approval"),
        _ => Some("set aside"),
    }
}

/// Who gave a review.
pub(crate) fn teacher(reviewer: Option<&Reviewer>) -> String {
    match reviewer {
        Some(Reviewer::Model(model)) => format!("judge {}", shown(model)),
        Some(Reviewer::Program) => "the program".to_owned(),
        _ => "a person".to_owned(),
    }
}

/// A share from 0 to 1 in percent.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is clamped"
)]
pub(crate) fn percent(share: f64) -> u32 {
    (share.clamp(0.0, 1.0) * 100.0).round() as u32
}
