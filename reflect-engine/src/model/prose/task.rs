use super::sentences::sentences;
use super::shorten::{CHARS_PER_WORD, fits, shorten};
use super::words::{count_words, has_word};

/// The clean text of a task in at most `words` words: of a long one, the sentences that state the goal
/// rather than the first ones.
pub(in crate::model) fn condense(text: &str, words: usize) -> String {
    if fits(text, words) {
        return text.to_owned();
    }
    let sentences: Vec<&str> = sentences(text).collect();
    let (wanted, other): (Vec<usize>, Vec<usize>) =
        (0..sentences.len()).partition(|at| states_the_goal(sentences[*at]));
    let (person, other): (Vec<usize>, Vec<usize>) = other
        .into_iter()
        .partition(|at| *at == 0 && is_about_the_person(sentences[*at]));
    let mut kept = Vec::new();
    let (mut room, mut chars) = (words, words * CHARS_PER_WORD);
    for at in wanted.into_iter().chain(other).chain(person) {
        let (length, count) = (count_words(sentences[at]), sentences[at].chars().count());
        if length <= room && count <= chars {
            kept.push(at);
            room -= length;
            // With the space between two.
            chars = chars.saturating_sub(count + 1);
        } else if kept.is_empty() {
            return shorten(sentences[at], words);
        } else {
            break;
        }
    }
    kept.sort_unstable();
    let kept: Vec<&str> = kept.into_iter().map(|at| sentences[at]).collect();
    kept.join(" ")
}

fn states_the_goal(sentence: &str) -> bool {
    const MARKS: &[&str] = &[
        "want", "wants", "need", "needs", "please", "goal", "like", "help", "find", "task", "wish",
    ];
    sentence.ends_with(['?', '？']) || has_word(sentence, MARKS)
}

/// Prompts often begin with the identity of the user, which is not part of the task.
fn is_about_the_person(sentence: &str) -> bool {
    sentence.starts_with("You are ") || sentence.starts_with("Your name ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::clean::clean;
    use super::*;

    #[test]
    fn a_condensed_task_states_its_goal() {
        let task = "You are olivia_gonzalez_2305, you live in Newark, and you will have a trip to \
            Texas. It is in your reservations. You want to change to a later flight.";
        assert_eq!(condense(task, 12), "You want to change to a later flight.");
    }

    #[test]
    fn sentences_of_long_words_share_the_room() {
        let sentence = format!("{}。", "单".repeat(2 * CHARS_PER_WORD - 1));
        assert_eq!(condense(&sentence.repeat(3), 3), sentence);
    }

    proptest! {
        #[test]
        fn nothing_grows_over_its_words(text in any::<String>(), words in 1_usize..40) {
            let clean = clean(&text);
            prop_assert!(!clean.contains(|c: char| c.is_control()));
            for short in [shorten(&clean, words), condense(&clean, words)] {
                prop_assert!(count_words(&short) <= words, "{short:?}");
                prop_assert!(short.chars().count() <= words * CHARS_PER_WORD + 2);
            }
        }

        #[test]
        fn no_punctuation_of_any_script_breaks_it(
            text in "[数а。！？….!? a]{0,400}", words in 1_usize..40,
        ) {
            let clean = clean(&text);
            for short in [shorten(&clean, words), condense(&clean, words), shorten(&text, words)] {
                prop_assert!(short.chars().count() <= words * CHARS_PER_WORD + 2, "{short:?}");
            }
        }
    }
}
