//! Lines of advice from memories: nearly equal ones are merged, the most useful come first.

use std::collections::HashSet;

use super::source::SourceMemory;
use crate::model::prose::{clean, condense, is_common, sentence, shorten};

/// Two lines that share this part of their words are one.
const SAME_LINE: f64 = 0.6;
/// Two lines whose guidance shares this part of its words are one.
const SAME_GUIDANCE: f64 = 0.9;

/// A line of a guide.
pub(super) struct Advice {
    topic: String,
    text: String,
    words: HashSet<String>,
    guidance: HashSet<String>,
    q_value: f64,
    runs: usize,
}

impl Advice {
    fn is_like(&self, other: &Self) -> bool {
        // Guidance of a few words may be equal by chance.
        const TELLING: usize = 4;
        let telling = self.guidance.len().min(other.guidance.len()) >= TELLING;
        shared(&self.words, &other.words) >= SAME_LINE
            || (telling && shared(&self.guidance, &other.guidance) >= SAME_GUIDANCE)
    }

    pub(super) fn shown(&self) -> String {
        let runs = match self.runs {
            1 => String::new(),
            runs => format!(", {runs} runs"),
        };
        let Self {
            topic,
            text,
            q_value,
            ..
        } = self;
        format!("**{topic}:** {text} (utility {q_value:.2}{runs})")
    }
}

/// The advice of a run that passed.
pub(super) fn strategy(memory: &SourceMemory<'_>) -> String {
    join(&[("", memory.correct_action, 30), ("", memory.guidance, 30)])
}

/// The advice of a run that failed.
pub(super) fn pitfall(memory: &SourceMemory<'_>) -> String {
    join(&[
        ("", memory.key_mistake, 34),
        ("Instead: ", memory.correct_action, 24),
        ("Next time: ", memory.guidance, 28),
    ])
}

fn join(parts: &[(&str, &str, usize)]) -> String {
    let parts = parts.iter().filter_map(|(label, text, words)| {
        let text = shorten(&clean(text), *words);
        (!text.is_empty()).then(|| format!("{label}{}", sentence(&text)))
    });
    parts.collect::<Vec<_>>().join(" ")
}

/// One line for each piece of advice, the most useful first; of nearly equal ones the best is kept.
pub(super) fn merge(
    memories: &[&SourceMemory<'_>],
    write: fn(&SourceMemory<'_>) -> String,
) -> Vec<Advice> {
    let mut all: Vec<Advice> = memories
        .iter()
        .filter_map(|memory| {
            let text = match write(memory) {
                empty if empty.is_empty() => {
                    let lines = memory.reflection.lines().map(|line| ("", line, 40));
                    join(&lines.collect::<Vec<_>>())
                }
                text => text,
            };
            let topic = condense(&clean(memory.task), 16);
            (!text.is_empty()).then(|| Advice {
                words: words(&text),
                guidance: words(&clean(memory.guidance)),
                topic: topic.trim_end_matches(['.', ':', ' ']).to_owned(),
                text,
                q_value: utility(memory.q_value),
                runs: 1,
            })
        })
        .collect();
    all.sort_by(|a, b| {
        let key = |advice: &Advice| (advice.text.clone(), advice.topic.clone());
        b.q_value
            .total_cmp(&a.q_value)
            .then_with(|| key(a).cmp(&key(b)))
    });
    let mut merged: Vec<Advice> = Vec::new();
    for advice in all {
        match merged.iter_mut().find(|known| known.is_like(&advice)) {
            Some(known) => known.runs += 1,
            None => merged.push(advice),
        }
    }
    merged
}

fn words(text: &str) -> HashSet<String> {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let words = words.filter(|word| !word.is_empty() && !is_common(word));
    words.map(str::to_owned).collect()
}

/// The part of all their words that two texts share.
#[expect(
    clippy::cast_precision_loss,
    reason = "a line has a hundred words at most"
)]
fn shared(a: &HashSet<String>, b: &HashSet<String>) -> f64 {
    let both = a.intersection(b).count();
    match a.len() + b.len() - both {
        0 => 1.0,
        all => both as f64 / all as f64,
    }
}

/// A utility that can be compared and shown, whatever was stored.
fn utility(q_value: f64) -> f64 {
    if q_value > 0.0 { q_value.min(1.0) } else { 0.0 }
}
