use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

use super::sentences::whole_sentences;

/// The most characters of a word, on average. It also bounds languages that write without spaces.
pub(super) const CHARS_PER_WORD: usize = 9;

/// The clean text in at most `words` words: cut after a sentence if that keeps most of it, else after
/// a word, with an ellipsis.
pub(in crate::model) fn shorten(text: &str, words: usize) -> String {
    if fits(text, words) {
        return text.to_owned();
    }
    let room = head_words(text, words.saturating_sub(1).max(1));
    if room.is_empty() {
        return String::new();
    }
    let whole = whole_sentences(room);
    if words > 1 && whole.len() * 3 > room.len() * 2 {
        return format!("{whole} …");
    }
    let cut = room.trim_end_matches([',', ';', ':', '-', '(', '"', ' ']);
    format!("{cut}…")
}

/// Whether a text has at most `words` words of ordinary length.
pub(in crate::model) fn fits(text: &str, words: usize) -> bool {
    let more_words = text.split_whitespace().nth(words);
    more_words.is_none() && text.chars().nth(words * CHARS_PER_WORD).is_none()
}

/// The first words of a text, of ordinary length.
fn head_words(text: &str, words: usize) -> &str {
    let end_of_words = text
        .match_indices(' ')
        .nth(words - 1)
        .map_or(text.len(), |(at, _)| at);
    let mut chars = text.char_indices().skip(words * CHARS_PER_WORD);
    let Some((end, _)) = chars.next().filter(|(at, _)| *at < end_of_words) else {
        return &text[..end_of_words];
    };
    if let Some(space) = text[..end].rfind(' ').filter(|space| *space * 2 > end) {
        return &text[..space];
    }
    // A long word is not cut between a letter and its accents, nor inside a joined emoji.
    let mut cut = &text[..end];
    let mut next = text[end..].chars().next();
    while let Some(last) = cut.chars().next_back()
        && (next.is_some_and(continues) || last == '\u{200d}')
    {
        next = Some(last);
        cut = &cut[..cut.len() - last.len_utf8()];
    }
    cut
}

fn continues(c: char) -> bool {
    !c.is_ascii()
        && (c == '\u{200d}'
            || c.general_category_group() == GeneralCategoryGroup::Mark
            || ('\u{1f3fb}'..='\u{1f3ff}').contains(&c))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_long_text_is_cut_after_a_sentence_or_a_word() {
        assert_eq!(
            shorten("One two three. Four five six seven.", 5),
            "One two three. …"
        );
        assert_eq!(shorten("One two, three four five six", 3), "One two…");
        assert_eq!(shorten("One two", 2), "One two");
        assert_eq!(shorten("Incomprehensible.!", 1), "Incompreh…");
    }

    #[test]
    fn sentences_without_spaces_between_them_are_cut_where_they_end() {
        let cut = shorten(&"订单已经发货所以无法取消。".repeat(9), 12);
        assert!(cut.ends_with("取消。 …"), "{cut}");
        let russian = "Заказ не найден… ".repeat(20);
        assert!(shorten(russian.trim_end(), 12).starts_with("Заказ не найден… "));
    }

    #[test]
    fn a_text_without_spaces_is_cut_between_characters() {
        let cut = shorten(&"数据".repeat(500), 4);
        assert!(cut.ends_with('…') && cut.chars().count() <= 4 * CHARS_PER_WORD);
        let accents = format!("{}e\u{301}", "e".repeat(CHARS_PER_WORD - 1)).repeat(9);
        assert!(!shorten(&accents, 2).contains("e…\u{301}"));
    }

    proptest! {
        #[test]
        fn words_are_not_cut_in_two(text in "([a-z]{1,8} ){1,60}[a-z]{1,8}", words in 1_usize..40) {
            let cut = shorten(&text, words);
            let cut = cut.trim_end_matches('…');
            prop_assert!(text.starts_with(cut));
            let rest = &text[cut.len()..];
            prop_assert!(rest.is_empty() || rest.starts_with(' '));
        }
    }
}
