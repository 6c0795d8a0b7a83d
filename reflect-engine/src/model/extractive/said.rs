//! What the agent answered, without courtesies.

use crate::model::prose::{clean, fits, is_common, sentences, shorten};
use crate::model::steps::Step;

/// How many texts are looked at beside the final response, from the last one back.
const MAX_BACK: usize = 15;

/// The most words of an answer that are shown.
const SHOWN: usize = 36;

/// The last sentences of the agent that speak of the task, or else its last text if `or_last`, shortened; empty
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
        Step::Said(text) => Some(text.as_ref()),
        _ => None,
    });
    let task = task.to_lowercase();
    let mut task: Vec<&str> = stems(&task, |_| true).collect();
    task.sort_unstable();
    task.dedup();
    // Two words of the task, or its only one.
    let tells = |sentence: &&str| {
        let sentence = sentence.to_lowercase();
        let mut shared = stems(&sentence, |stem| task.binary_search(&stem).is_ok());
        match shared.next() {
            Some(first) => task.len() == 1 || shared.any(|stem| stem != first),
            None => task.is_empty(),
        }
    };
    // Most often the final response is the last text.
    let said = said.take(MAX_BACK).filter(|text| *text != final_response);
    let mut last = String::new();
    for text in std::iter::once(final_response).chain(said) {
        let text = clean(text);
        let mut telling = String::new();
        for sentence in sentences(&text).filter(tells) {
            if !telling.is_empty() {
                telling.push(' ');
            }
            telling.push_str(sentence);
            // The rest would not be shown.
            if !fits(&telling, SHOWN) {
                break;
            }
        }
        if !telling.is_empty() {
            return shorten(&telling, SHOWN);
        }
        if last.is_empty() && or_last {
            last = text;
        }
    }
    shorten(&last, SHOWN)
}

/// The words of a text in lower case that carry meaning, cut to their beginning, so that `cancelled`
/// and `cancellation` are one, and of these the wanted ones. Short words, as in `need more`, carry none.
fn stems(lower: &str, is_wanted: impl Fn(&str) -> bool) -> impl Iterator<Item = &str> {
    const STEM: usize = 6;
    let words = lower.split(|c: char| !c.is_alphanumeric());
    let long = words.filter(|word| word.chars().nth(4).is_some());
    long.filter_map(move |word| {
        let bare = word.trim_end_matches('s');
        let end = bare.char_indices().nth(STEM);
        let stem = &bare[..end.map_or(bare.len(), |(at, _)| at)];
        // Few are wanted, and it takes less to tell than whether a word is common.
        (is_wanted(stem) && !is_common(word)).then_some(stem)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_talk_is_not_an_answer() {
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
    #[test]
    fn a_long_answer_is_shortened_as_a_whole() {
        let told = "The refund of order 7 is due. ".repeat(40);
        let mixed = told.replace("due. ", "due. Thanks! ");
        for text in [told.as_str(), &mixed, &told[..600], &told[..90]] {
            let answer = answer(&[], text, "Refund my order", false);
            let whole = clean(&text.replace("Thanks! ", ""));
            assert_eq!(answer, shorten(&whole, SHOWN));
        }
    }
}
