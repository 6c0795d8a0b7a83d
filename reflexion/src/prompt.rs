use std::fmt::Write as _;

use reflect_models::tokens::clip;
use reflect_models::transcript;

use crate::self_reflection::{FailedTrial, MemoryEntry};
use crate::trajectory::Trajectory;

const EVALUATOR: &str = include_str!("prompts/evaluator.md");
const REFLECTION: &str = include_str!("prompts/reflection.md");
const NEXT_TRIAL: &str = include_str!("prompts/next_trial.md");
const RECALLED: &str = include_str!("prompts/recalled.md");

/// The longest task, answer, reflection and feedback shown, in tokens.
const MAX_TEXT: usize = 4_000;
/// The longest history shown, in tokens.
const MAX_HISTORY: usize = 12_000;

/// Asks whether a trial did the task.
pub(crate) fn evaluator(trial: &Trajectory, criteria: &str) -> String {
    fill(
        EVALUATOR,
        &[
            ("task", &clip(&trial.task, MAX_TEXT)),
            ("history", &transcript(&trial.messages, MAX_HISTORY)),
            ("response", &response(trial)),
            ("criteria", criteria),
        ],
    )
}

/// Asks what a failed trial teaches.
pub(crate) fn reflection(failed: &FailedTrial) -> String {
    let trial = &failed.trajectory;
    fill(
        REFLECTION,
        &[
            ("task", &clip(&trial.task, MAX_TEXT)),
            ("notes", &notes(&failed.memory)),
            ("history", &transcript(&trial.messages, MAX_HISTORY)),
            ("response", &response(trial)),
            ("feedback", &clip(&failed.evaluation.feedback, MAX_TEXT)),
        ],
    )
}

/// The actor's prompt: recalled memories, the previous attempt and reflections, if any, then the
/// task.
pub(crate) fn attempt(
    task: &str,
    memories: &str,
    reflections: &[MemoryEntry],
    previous: Option<&Trajectory>,
) -> String {
    let mut parts = Vec::new();
    if !memories.is_empty() {
        parts.push(fill(RECALLED, &[("memories", memories)]));
    }
    if !reflections.is_empty() || previous.is_some() {
        let previous = previous.map(last_attempt).unwrap_or_default();
        let values: [(&str, &str); 2] = [("previous", &previous), ("notes", &notes(reflections))];
        parts.push(fill(NEXT_TRIAL, &values));
    } else if !parts.is_empty() {
        parts.push("The task:".to_owned());
    }
    parts.push(task.to_owned());
    parts.join("\n\n")
}

/// Reflections as text, oldest first.
pub(crate) fn notes(reflections: &[MemoryEntry]) -> String {
    let mut text = String::new();
    for entry in reflections {
        let gap = if text.is_empty() { "" } else { "\n\n" };
        let note = clip(entry.reflection.trim(), MAX_TEXT);
        let _ = write!(text, "{gap}After trial {}: {note}", entry.trial);
    }
    text
}

fn last_attempt(trial: &Trajectory) -> String {
    format!(
        "{}\n\nFinal answer: {}",
        transcript(&trial.messages, MAX_HISTORY),
        response(trial)
    )
}

fn response(trial: &Trajectory) -> String {
    let answer = trial.answer();
    if answer.trim().is_empty() {
        return "(no answer was given)".to_owned();
    }
    clip(&answer, MAX_TEXT)
}

/// Fills the `{{name}}` placeholders of a prompt.
///
/// A prompt consists of blocks separated by empty lines. A block with a blank value is left out,
/// including its heading. Placeholders inside values are not filled, and a value cannot close the
/// tag around it.
pub(crate) fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let blocks: Vec<String> = template
        .trim_end()
        .split("\n\n")
        .filter_map(|block| fill_block(block, values))
        .collect();
    blocks.join("\n\n")
}

fn fill_block(block: &str, values: &[(&str, &str)]) -> Option<String> {
    let mut filled = String::with_capacity(block.len());
    let mut rest = block;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}")?;
        let (_, value) = values.iter().find(|(known, _)| *known == name)?;
        if value.trim().is_empty() {
            return None;
        }
        filled.push_str(before);
        filled.push_str(&without_closing(value, name));
        rest = after;
    }
    filled.push_str(rest);
    Some(filled)
}

/// Escapes the closing tag in a value, so that an agent's text cannot pass for the prompt.
fn without_closing(value: &str, tag: &str) -> String {
    value.replace(&format!("</{tag}>"), &format!("<\\/{tag}>"))
}
