//! What the agent answered, without courtesies.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::model::prose::{clean, is_common, sentences};
use crate::model::steps::Step;

/// How many texts are looked at, from the last one back.
const MAX_BACK: usize = 16;

/// The last sentences of the agent that speak of the task, or else its last text if `or_last`; empty
/// if there are none.
///
/// Many runs end in small talk, which shares no words with the task.
pub(super) fn answer(
    steps: &[Step<'_>],
    final_response: &str,
    task: &str,
    or_last: bool,
) -> String {
    let said = steps.iter().rev().filter_map(|step| match step {
        Step::Said(text) => Some(text),
        _ => None,
    });
    let last = Cow::Borrowed(final_response);
    let texts = std::iter::once(&last).chain(said).take(MAX_BACK);
    let texts: Vec<String> = texts.map(|text| clean(text)).collect();
    let task: HashSet<String> = stems(task).collect();
    let tells = |sentence: &&str| {
        let shared: HashSet<String> = stems(sentence).filter(|stem| task.contains(stem)).collect();
        shared.len() >= 2.min(task.len())
    };
    let telling = texts.iter().map(|text| {
        let telling: Vec<&str> = sentences(text).into_iter().filter(tells).collect();
        telling.join(" ")
    });
    let is_text = |text: &String| !text.is_empty();
    let last = || texts.iter().find(|text| is_text(text)).filter(|_| or_last);
    telling
        .into_iter()
        .find(is_text)
        .or_else(|| last().cloned())
        .unwrap_or_default()
}

/// The words that carry meaning, cut to their beginning, so that `cancelled` and `cancellation` are
/// one. Short words, as in `need more`, carry none.
fn stems(text: &str) -> impl Iterator<Item = String> {
    const STEM: usize = 6;
    let lower = text.to_lowercase();
    let words = lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.chars().nth(4).is_some() && !is_common(word))
        .map(|word| word.trim_end_matches('s').chars().take(STEM).collect());
    words.collect::<Vec<String>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_talk_is_no_answer() {
        let steps = [
            Step::Said("The refund of order 7 is 40 euros. Is there anything else?".into()),
            Step::Said("You’re welcome! Safe travels!".into()),
        ];
        let answer = |last, or_last| super::answer(&steps, last, "Refund my order", or_last);
        assert_eq!(answer("", false), "The refund of order 7 is 40 euros.");
        assert_eq!(
            answer("Order 7: refund refused.", false),
            "Order 7: refund refused."
        );
        assert_eq!(
            super::answer(&[], "Paris", "Name the capital", true),
            "Paris"
        );
        assert_eq!(super::answer(&[], "Bye", "Name the capital", false), "");
    }
}
