use reflect_types::neutral;

use super::sentences::whole_sentences;

/// The text in the writer's words and lines, without what a terminal must not get, in at most `limit`
/// characters: a longer one is cut after a sentence, or else after a word, and ends in `…`.
pub(in crate::model) fn verbatim(text: &str, limit: usize) -> String {
    let text = neutral::for_terminal(text);
    let text = text.trim();
    let Some((end, _)) = text.char_indices().nth(limit) else {
        return text.to_owned();
    };
    let kept = &text[..end];
    let sentences = whole_sentences(kept);
    let cut = match kept.rfind(char::is_whitespace) {
        _ if sentences.len() * 2 > kept.len() => sentences,
        Some(word) if word * 2 > kept.len() => &kept[..word],
        _ => kept,
    };
    format!("{} …", cut.trim_end())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_text_within_the_limit_stays_as_it_is() {
        let review = "- **Ask** first.\n- Then pay; 3.50 at most!";
        assert_eq!(verbatim(review, 100), review);
        assert_eq!(verbatim(" a\u{0}\u{202e}b\u{1b}[2J\n", 100), "ab");
    }

    #[test]
    fn a_longer_text_is_cut_after_a_sentence_with_a_mark() {
        assert_eq!(
            verbatim("One two three. Four five six.", 20),
            "One two three. …"
        );
        assert_eq!(verbatim("One two three four five", 17), "One two three …");
        assert_eq!(
            verbatim(&"数".repeat(50), 10),
            format!("{} …", "数".repeat(10))
        );
    }

    proptest! {
        #[test]
        fn nothing_exceeds_the_limit(text: String, limit in 1_usize..50) {
            prop_assert!(verbatim(&text, limit).chars().count() <= limit + 2);
        }
    }
}
