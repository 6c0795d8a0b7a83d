//! Reading the verdict in an evaluator's reply.

mod doubt;
mod line;
#[cfg(test)]
mod tests;
mod words;

use std::cell::RefCell;

use reflect_models::{json, think};
use serde_json::{Map, Value};

use self::line::LineVerdict;
use self::words::{Word, words};
use crate::evaluation::Evaluation;

/// The most lines of a reply in which a retraction is searched.
const MAX_LINES: usize = 1_000;

/// Reads an evaluator's reply.
///
/// Thoughts are stripped. A verdict is a JSON object with a boolean `success`, the first line or
/// the last line; see [`line::read`]. A reply with no verdict, with verdicts that contradict each
/// other, or with a pass that its other words deny is a failure marked unclear.
pub(crate) fn read(reply: &str) -> Evaluation {
    let answer = think::strip(reply);
    let parts = Reply::parse(answer.trim());
    match parts.verdict() {
        Some(success) => Evaluation {
            success,
            ..parts.details()
        }
        .checked(),
        None => Evaluation {
            unclear: true,
            // A reply that is all thought has no other feedback.
            ..Evaluation::fail(match parts.answer {
                "" => reply.trim(),
                answer => answer,
            })
        },
    }
}

/// Whether a text is blank or nothing but a verdict, such as "Result: FAILURE". Such a text teaches
/// nothing.
pub(crate) fn is_bare(text: &str) -> bool {
    let words = words(text, usize::MAX);
    let mut verdicts = words.iter().filter(|word| word.is_verdict_like());
    words.is_empty() || (verdicts.next().is_some() && words.iter().all(Word::may_frame_verdict))
}

/// A reply without its thoughts, taken apart.
struct Reply<'a> {
    answer: &'a str,
    lines: Vec<&'a str>,
    /// The verdicts of the first and the last line that is not blank, with the line's index.
    stated: Vec<(usize, LineVerdict<'a>)>,
    /// The JSON objects with a boolean `success`.
    objects: Vec<Map<String, Value>>,
}

impl<'a> Reply<'a> {
    fn parse(answer: &'a str) -> Self {
        let lines: Vec<&str> = answer.lines().collect();
        let mut ends = vec![0, lines.len().saturating_sub(1)];
        ends.dedup();
        let stated = ends.into_iter().filter_map(|index| {
            let line = lines.get(index)?;
            Some((index, line::read(line)?))
        });
        Self {
            answer,
            stated: stated.collect(),
            objects: verdict_objects(answer),
            lines,
        }
    }

    /// The verdict, if there is one, all agree, and nothing denies a pass.
    fn verdict(&self) -> Option<bool> {
        let in_lines = self.stated.iter().map(|(_, line)| line.success);
        let mut verdicts = self.objects.iter().filter_map(success).chain(in_lines);
        let first = verdicts.next()?;
        let clear = verdicts.all(|other| other == first) && !(first && self.is_denied());
        clear.then_some(first)
    }

    fn is_denied(&self) -> bool {
        let beside = |(index, line): &(usize, LineVerdict<'_>)| {
            doubt::is_crossed_out(self.lines[*index]) || doubt::denies(line.reason)
        };
        if self.stated.iter().any(beside) {
            return true;
        }
        let is_stated = |index| self.stated.iter().any(|(stated, _)| *stated == index);
        if self.objects.is_empty() {
            let others = self.lines.iter().take(MAX_LINES).enumerate();
            let mut others = others.filter(|(index, _)| !is_stated(*index));
            return others.any(|(_, line)| doubt::retracts(line));
        }
        self.objects
            .iter()
            .any(|fields| feedback(fields).lines().any(doubt::retracts))
    }

    /// Score and feedback, without the verdict.
    fn details(&self) -> Evaluation {
        if let Some(fields) = self.objects.first() {
            return Evaluation {
                score: fields.get("score").and_then(Value::as_f64),
                ..Evaluation::fail(feedback(fields))
            };
        }
        let mut lines = self.lines.clone();
        for (index, line) in &self.stated {
            lines[*index] = line.reason;
        }
        Evaluation::fail(lines.join("\n").trim())
    }
}

fn verdict_objects(answer: &str) -> Vec<Map<String, Value>> {
    let found = RefCell::new(Vec::new());
    // Accepts none, so that all are visited.
    json::find(answer, |fields| {
        if success(fields).is_some() {
            found.borrow_mut().push(fields.clone());
        }
        false
    });
    found.into_inner()
}

fn success(fields: &Map<String, Value>) -> Option<bool> {
    fields.get("success")?.as_bool()
}

fn feedback(fields: &Map<String, Value>) -> &str {
    let feedback = fields.get("feedback").and_then(Value::as_str);
    feedback.unwrap_or_default().trim()
}
