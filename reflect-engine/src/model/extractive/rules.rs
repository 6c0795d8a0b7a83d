//! Finds the rule that a failed run should have looked at.

use std::collections::{HashMap, HashSet};

use crate::model::prose::{blocks, count_words, has_word, is_common, restricts, sentences};

/// What a rule is looked for with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Situation<'a> {
    /// What the reviewer or a tool objected to; may be empty.
    pub(super) objection: &'a str,
    /// The tool that was called last; may be empty.
    pub(super) tool: &'a str,
    /// What was asked. It only decides between rules that apply.
    pub(super) task: &'a str,
}

/// The restriction among the rules that fits the situation best; none if none is about it.
pub(super) fn relevant_rule(rules: &str, situation: Situation<'_>) -> Option<String> {
    /// Words of a sentence that is a rule and can be quoted.
    const LENGTH: std::ops::RangeInclusive<usize> = 5..=40;
    let blocks = blocks(rules);
    let rules: Vec<(&str, HashSet<String>)> = blocks
        .iter()
        .flat_map(|block| sentences(block))
        .filter(|sentence| LENGTH.contains(&count_words(sentence)) && restricts(sentence))
        .map(|sentence| (sentence, stems(sentence).collect()))
        .collect();
    let mut frequency: HashMap<&str, f64> = HashMap::new();
    for stem in rules.iter().flat_map(|(_, stems)| stems) {
        *frequency.entry(stem).or_default() += 1.0;
    }
    let verb = stems(situation.tool).next();
    // Short words of a tool's name are verbs such as `pay`; those of a sentence may be anything.
    let objection = stems(situation.objection).filter(|stem| stem.len() > 3);
    let about: HashSet<String> = objection.chain(stems(situation.tool)).collect();
    let task: HashSet<String> = stems(situation.task).collect();
    let mut best: Option<(f64, &str)> = None;
    for (rule, stems) in &rules {
        let shared = stems.intersection(&about).count();
        let on_the_tool = verb.as_ref().is_some_and(|verb| stems.contains(verb))
            && has_word(
                rule,
                &["must", "only", "cannot", "never", "should", "always", "if"],
            );
        if shared < 2 || (situation.objection.is_empty() && !on_the_tool) {
            continue;
        }
        let weigh = |stem: &String| {
            let share = if about.contains(stem) { 1.0 } else { 0.25 };
            share / frequency[stem.as_str()].sqrt()
        };
        let mut weights: Vec<f64> = stems
            .iter()
            .filter(|stem| about.contains(*stem) || task.contains(*stem))
            .map(weigh)
            .collect();
        // Summed in a fixed order, so that equal scores are equal.
        weights.sort_by(f64::total_cmp);
        #[expect(clippy::cast_precision_loss, reason = "a rule has at most forty words")]
        let score = weights.iter().sum::<f64>() / (stems.len() as f64).sqrt();
        if best.is_none_or(|(best, _)| score > best) {
            best = Some((score, rule));
        }
    }
    best.map(|(_, rule)| rule.to_owned())
}

/// The words that carry meaning, cut to their beginning, so that `cancelled` and `cancellation` are
/// one; names such as `update_order` count as two.
pub(super) fn stems(text: &str) -> impl Iterator<Item = String> {
    const STEM: usize = 6;
    let lower = text.to_lowercase();
    let words = lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.chars().nth(2).is_some() && !is_common(word))
        .filter(|word| !word.starts_with(|c: char| c.is_ascii_digit()))
        .map(|word| word.trim_end_matches('s').chars().take(STEM).collect());
    words.collect::<Vec<String>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &str = "# Policy\n\n- Basic economy flights cannot be modified.\n- Each reservation \
        can use at most one\n  travel certificate and one credit card.\n- Reservations can be \
        cancelled only within 24 hours.\n- The agent is friendly and cancels nothing.";

    fn rule(objection: &str, tool: &str) -> Option<String> {
        let task = "You want to cancel a flight";
        relevant_rule(
            RULES,
            Situation {
                objection,
                tool,
                task,
            },
        )
    }

    #[test]
    fn the_rule_about_what_happened_is_found() {
        let objection = "travel certificate was used twice";
        assert_eq!(
            rule(objection, "").unwrap(),
            "Each reservation can use at most one travel certificate and one credit card."
        );
        assert_eq!(
            rule("", "cancel_reservation").unwrap(),
            "Reservations can be cancelled only within 24 hours."
        );
    }

    #[test]
    fn a_rule_about_something_else_is_none() {
        assert_eq!(rule("the printer is out of paper", "print"), None);
        assert_eq!(rule("", "book_reservation"), None);
        assert_eq!(rule("", ""), None);
    }
}
