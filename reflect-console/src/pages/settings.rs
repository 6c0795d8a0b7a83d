use askama::Template;
use reflect_types::{Approval, ProjectSettings, Ranking, Stats, UpdateProject};

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
    ranking: Choices,
    approve: Choices,
    control: String,
    keep_personal_values: Choices,
    keeps_personal_values: bool,
    is_saved: bool,
    totals: Vec<(&'static str, String)>,
    /// The command that exports the project.
    export: String,
}

/// The value, the label and whether it is chosen, of each option.
type Choices = Vec<(&'static str, &'static str, bool)>;

/// What the page shows.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// What is set.
    pub project: &'a ProjectSettings,
    /// The totals of the project.
    pub stats: &'a Stats,
    /// The learning rate of a review that names none.
    pub default_alpha: f64,
    /// Whether memories keep values that identify a person or a case, in a project that does not say.
    pub keeps_personal_by_default: bool,
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
            ("waiting for approval", stats.staged),
            ("merged", stats.merged),
            ("archived", stats.archived),
        ];
        let [
            max_alpha,
            max_memories,
            ranking,
            approve,
            control,
            keep_personal_values,
        ] = setting_values(project).map(|(_, value)| value);
        let by_default = settings.keeps_personal_by_default;
        let personal = [
            (
                "",
                if by_default {
                    "kept by default"
                } else {
                    "removed by default"
                },
            ),
            ("false", "removed"),
            ("true", "kept"),
        ];
        Self {
            max_alpha,
            default_alpha: settings.default_alpha.to_string(),
            max_memories,
            ranking: choices(RANKINGS, &ranking),
            approve: choices(APPROVALS, &approve),
            control,
            keep_personal_values: choices(personal, &keep_personal_values),
            keeps_personal_values: project.keep_personal_values.unwrap_or(by_default),
            is_saved: settings.is_saved,
            totals: totals
                .map(|(name, number)| (name, grouped(number)))
                .to_vec(),
            export: format!(
                "reflect export --url {} --project {} bundle.jsonl",
                first.base_url,
                shell_word(&first.project)
            ),
            frame: frame.on("settings"),
        }
    }
}

const RANKINGS: [(&str, &str); 3] = [
    ("", "the server's choice"),
    ("learned", "learned from reviews"),
    ("classic", "published formula"),
];

const APPROVALS: [(&str, &str); 3] = [
    ("", "used at once"),
    ("models", "those of judges wait"),
    ("first", "all wait for approval"),
];

/// The names and values of the settings, as the form has them.
pub fn setting_values(project: &ProjectSettings) -> [(&'static str, String); 6] {
    fn text(value: Option<impl ToString>) -> String {
        value.map(|value| value.to_string()).unwrap_or_default()
    }
    [
        ("max_alpha", text(project.max_alpha)),
        ("max_memories", text(project.max_memories)),
        (
            "ranking",
            text(project.ranking.as_ref().map(Ranking::as_str)),
        ),
        (
            "approve",
            text(project.approve.as_ref().map(Approval::as_str)),
        ),
        ("control", text(project.control)),
        ("keep_personal_values", text(project.keep_personal_values)),
    ]
}

/// A text as one word of a shell's command.
fn shell_word(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn choices<const N: usize>(options: [(&'static str, &'static str); N], chosen: &str) -> Choices {
    let options = options.map(|(value, label)| (value, label, value == chosen));
    options.to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_is_one_word_of_the_command() {
        assert_eq!(shell_word("support"), "'support'");
        assert_eq!(shell_word("it's $(date)"), r"'it'\''s $(date)'");
    }
}
