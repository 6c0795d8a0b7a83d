use askama::Template;
use reflect_types::{ProjectSummary, Stats, UpdateProject};

use super::FirstTrace;
use crate::frame::Frame;
use crate::text::grouped;

/// The settings of a project.
#[derive(Debug, Template)]
#[template(path = "settings.html")]
pub struct SettingsPage {
    frame: Frame,
    max_alpha: String,
    default_alpha: String,
    max_memories: String,
    keeps_personal_values: bool,
    is_saved: bool,
    totals: Vec<(&'static str, String)>,
    /// The command that exports the project.
    export: String,
}

/// What the page shows.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// The project with its settings.
    pub project: &'a ProjectSummary,
    /// Its totals.
    pub stats: &'a Stats,
    /// The learning rate of a review that names none.
    pub default_alpha: f64,
    /// Whether memories keep values that identify a person or a case.
    pub keeps_personal_values: bool,
    /// Whether the visitor has just changed them.
    pub is_saved: bool,
}

impl SettingsPage {
    /// The page.
    pub fn new(frame: Frame, settings: Settings<'_>, first: &FirstTrace) -> Self {
        let Settings { project, stats, .. } = settings;
        let totals = [
            ("traces", stats.traces),
            ("waiting for a review", stats.pending),
            ("passed", stats.passed),
            ("failed", stats.failed),
            ("not learned from", stats.ingest_failed),
            ("memories", stats.memories),
            ("tested memories", stats.used_memories),
            ("set aside", stats.quarantined),
            ("archived", stats.archived),
        ];
        let text = |value: Option<String>| value.unwrap_or_default();
        Self {
            max_alpha: text(project.max_alpha.map(|alpha| alpha.to_string())),
            default_alpha: settings.default_alpha.to_string(),
            max_memories: text(project.max_memories.map(|limit| limit.to_string())),
            keeps_personal_values: settings.keeps_personal_values,
            is_saved: settings.is_saved,
            totals: totals
                .map(|(name, number)| (name, grouped(number)))
                .to_vec(),
            export: format!(
                "reflect export --url {} --project {:?} bundle.jsonl",
                first.base_url, first.project
            ),
            frame: frame.on("settings"),
        }
    }
}
