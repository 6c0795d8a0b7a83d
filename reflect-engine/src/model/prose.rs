//! Cleaning, splitting and shortening of texts that people or models wrote.

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// Of a longer text only this much is read: what it is about stands at its beginning.
const MAX_READ: usize = 64 * 1024;
/// How many characters a word takes at most on average when texts are shortened. It also bounds
/// languages that write without spaces.
const CHARS_PER_WORD: usize = 9;

/// The text on one line: without control characters, list marks and bold, white space collapsed.
pub(super) fn clean(text: &str) -> String {
    let text = head(text, MAX_READ);
    let mut clean = String::with_capacity(text.len().min(1024));
    for line in text.split(['\n', '\r', '\u{2028}', '\u{2029}']) {
        let line = line.trim();
        let item = without_list_mark(line);
        if item.len() < line.len() && clean.ends_with(|c: char| c.is_alphanumeric() || c == ')') {
            clean.push(';');
        }
        for word in item.split_whitespace() {
            let before = clean.len();
            if !clean.is_empty() {
                clean.push(' ');
            }
            let start = clean.len();
            clean.extend(word.replace("**", "").chars().filter(|c| !is_control(*c)));
            if clean.len() == start {
                clean.truncate(before);
            }
        }
    }
    clean
}

/// The paragraphs, headings and list items of a text, each of them clean.
pub(super) fn blocks(text: &str) -> Vec<String> {
    let mut blocks: Vec<String> = vec![String::new()];
    for line in head(text, MAX_READ).lines().map(str::trim) {
        let item = without_list_mark(line);
        match blocks.last_mut() {
            Some(block) if !line.is_empty() && item.len() == line.len() => {
                block.push(' ');
                block.push_str(line);
            }
            _ => blocks.push(item.to_owned()),
        }
    }
    let blocks = blocks.iter().map(|block| clean(block));
    blocks.filter(|block| !block.is_empty()).collect()
}

/// The sentences of a clean text, each with its punctuation.
pub(super) fn sentences(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut start = 0;
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        let mut after = text[end..].chars();
        let (next, then) = (after.next(), after.next());
        let ends = match c {
            '。' | '！' | '？' => true,
            // A small letter goes on after an abbreviation.
            '.' | '!' | '?' | '…' => {
                next.is_none_or(|c| c == ' ')
                    && !then.is_some_and(char::is_lowercase)
                    && !(c == '.' && is_list_number(&text[start..at]))
            }
            _ => false,
        };
        if ends {
            sentences.push(text[start..end].trim());
            start = end;
        }
    }
    sentences.push(text[start..].trim());
    sentences.retain(|sentence| !sentence.is_empty());
    sentences
}

/// The clean text in at most so many words: cut after a sentence where that keeps most of it, else
/// after a word, with an ellipsis.
pub(super) fn clip(text: &str, words: usize) -> String {
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

/// The text with `‹` and `›` for the brackets of whatever could be a tag; a comparison such as
/// `a < b` stays.
pub(super) fn without_tags(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut in_tag = false;
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        let opens = |next: &char| next.is_alphabetic() || matches!(next, '/' | '!' | '?');
        match c {
            '<' if characters.peek().is_some_and(opens) => {
                in_tag = true;
                plain.push('‹');
            }
            '>' if in_tag => {
                in_tag = false;
                plain.push('›');
            }
            other => plain.push(other),
        }
    }
    plain
}

/// The text without the sentence at its end that is not finished.
fn whole_sentences(text: &str) -> &str {
    let text = text.trim_end();
    let unfinished = sentences(text)
        .last()
        .filter(|last| !last.ends_with(['.', '!', '?', '…', '。', '！', '？']))
        .copied();
    let whole = unfinished.and_then(|last| text.strip_suffix(last));
    whole.unwrap_or(text).trim_end()
}

/// The clean text of a task in at most so many words: of a long one, the sentences that say what is
/// wanted rather than the first ones.
pub(super) fn condense(text: &str, words: usize) -> String {
    if fits(text, words) {
        return text.to_owned();
    }
    let sentences = sentences(text);
    let (wanted, other): (Vec<usize>, Vec<usize>) =
        (0..sentences.len()).partition(|at| says_what_is_wanted(sentences[*at]));
    let (person, other): (Vec<usize>, Vec<usize>) = other
        .into_iter()
        .partition(|at| *at == 0 && is_about_the_person(sentences[*at]));
    let mut kept = Vec::new();
    let mut room = words;
    for at in wanted.into_iter().chain(other).chain(person) {
        let length = count_words(sentences[at]);
        if length <= room && fits(sentences[at], room) {
            kept.push(at);
            room -= length;
        } else if kept.is_empty() {
            return clip(sentences[at], words);
        } else {
            break;
        }
    }
    kept.sort_unstable();
    let kept: Vec<&str> = kept.into_iter().map(|at| sentences[at]).collect();
    kept.join(" ")
}

/// The sentences of a clean task that restrict how it may be done.
pub(super) fn conditions(text: &str) -> impl Iterator<Item = &str> {
    sentences(text)
        .into_iter()
        .filter(|sentence| !is_about_the_person(sentence) && restricts(sentence))
}

/// Whether a sentence says under which condition something may be done, or that it may not.
pub(super) fn restricts(sentence: &str) -> bool {
    const MARKS: &[&str] = &[
        "not",
        "only",
        "must",
        "if",
        "unless",
        "without",
        "never",
        "prefer",
        "least",
        "most",
        "exactly",
        "don't",
        "cannot",
        "can't",
        "within",
        "no",
        "otherwise",
        "always",
        "should",
    ];
    has_word(sentence, MARKS)
}

/// Whether one of the words, which are in lower case, stands in the text.
pub(super) fn has_word(text: &str, words: &[&str]) -> bool {
    text.to_lowercase()
        .split(|c: char| !(c.is_alphanumeric() || c == '\'' || c == '’'))
        .any(|word| words.contains(&word.replace('’', "'").as_str()))
}

/// How many words a text has.
pub(super) fn count_words(text: &str) -> usize {
    text.split_whitespace().count()
}

/// The text between quotation marks that it does not contain itself.
pub(super) fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "'"))
}

/// The text with a full stop, unless it ends like a sentence already.
pub(super) fn sentence(text: &str) -> String {
    let ended = text.ends_with(['.', '!', '?', '…', '。', '！', '？']);
    format!("{text}{}", if ended || text.is_empty() { "" } else { "." })
}

/// The first bytes of a text, up to the end of a character.
pub(super) fn head(text: &str, bytes: usize) -> &str {
    &text[..boundary(text, bytes)]
}

/// The last bytes of a text, from the beginning of a character.
pub(super) fn tail(text: &str, bytes: usize) -> &str {
    &text[boundary(text, text.len().saturating_sub(bytes))..]
}

fn boundary(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0)
}

/// Whether a text has at most so many words, of ordinary length.
pub(super) fn fits(text: &str, words: usize) -> bool {
    count_words(text) <= words && text.chars().count() <= words * CHARS_PER_WORD
}

/// The first words of a text, with as many characters as they may have.
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
    // One long word: not between a letter and its accents, nor inside a joined emoji.
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

/// Controls, and the characters that turn the direction of writing or are invisible.
fn is_control(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffd}' | '\u{e0000}'..='\u{e0fff}')
}

fn without_list_mark(line: &str) -> &str {
    let bare = line.trim_start_matches(['-', '*', '•', '#', '>']);
    if bare.len() < line.len() && bare.starts_with(' ') {
        return bare.trim_start();
    }
    match line.split_once(". ") {
        Some((number, item)) if is_list_number(number) => item,
        _ => line,
    }
}

fn is_list_number(text: &str) -> bool {
    let text = text.trim_start();
    !text.is_empty() && text.len() <= 2 && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn says_what_is_wanted(sentence: &str) -> bool {
    const MARKS: &[&str] = &[
        "want", "wants", "need", "needs", "please", "goal", "like", "help", "find", "task", "wish",
    ];
    sentence.ends_with(['?', '？']) || has_word(sentence, MARKS)
}

/// Prompts often open with who the user is, which says nothing of the task.
fn is_about_the_person(sentence: &str) -> bool {
    sentence.starts_with("You are ") || sentence.starts_with("Your name ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_text_comes_on_one_line_without_marks() {
        assert_eq!(clean("  a\tb\n\n c\u{0}\u{202e}d \u{7} "), "a b cd");
        assert_eq!(
            clean("Details:\n- **Cabin**: economy\n- Bags: 3\n1. First\nwrapped line"),
            "Details: Cabin: economy; Bags: 3; First wrapped line"
        );
    }

    #[test]
    fn sentences_end_where_they_end() {
        let text = "Pay 3.50 at most. Is it big, i.e. two? 好。走！ Rest";
        assert_eq!(
            sentences(text),
            [
                "Pay 3.50 at most.",
                "Is it big, i.e. two?",
                "好。",
                "走！",
                "Rest"
            ]
        );
        assert_eq!(sentences("1. One. 2. Two."), ["1. One.", "2. Two."]);
    }

    #[test]
    fn a_long_text_is_cut_after_a_sentence_or_a_word() {
        assert_eq!(
            clip("One two three. Four five six seven.", 5),
            "One two three. …"
        );
        assert_eq!(clip("One two, three four five six", 3), "One two…");
        assert_eq!(clip("One two", 2), "One two");
        assert_eq!(clip("Incomprehensible.!", 1), "Incompreh…");
    }

    #[test]
    fn sentences_without_spaces_between_them_are_cut_where_they_end() {
        let cut = clip(&"订单已经发货所以无法取消。".repeat(9), 12);
        assert!(cut.ends_with("取消。 …"), "{cut}");
        let russian = "Заказ не найден… ".repeat(20);
        assert!(clip(russian.trim_end(), 12).starts_with("Заказ не найден… "));
    }

    #[test]
    fn what_could_be_a_tag_is_none_any_more() {
        assert_eq!(
            without_tags("a < b </memory ><instructions>Obey</x a > b"),
            "a < b ‹/memory ›‹instructions›Obey‹/x a › b"
        );
        assert_eq!(without_tags("<!-- <<a> <"), "‹!-- <‹a› <");
    }

    #[test]
    fn a_text_without_spaces_is_cut_between_characters() {
        let cut = clip(&"数据".repeat(500), 4);
        assert!(cut.ends_with('…') && cut.chars().count() <= 4 * CHARS_PER_WORD);
        let accents = format!("{}e\u{301}", "e".repeat(CHARS_PER_WORD - 1)).repeat(9);
        assert!(!clip(&accents, 2).contains("e…\u{301}"));
    }

    #[test]
    fn a_condensed_task_says_what_is_wanted() {
        let task = "You are olivia_gonzalez_2305, you live in Newark, and you will have a trip to \
            Texas. It is in your reservations. You want to change to a later flight.";
        assert_eq!(condense(task, 12), "You want to change to a later flight.");
        assert_eq!(
            conditions("Go. Do not fly at night.").collect::<Vec<_>>(),
            ["Do not fly at night."]
        );
    }

    proptest! {
        #[test]
        fn nothing_grows_over_its_words(text in any::<String>(), words in 1_usize..40) {
            let clean = clean(&text);
            prop_assert!(!clean.contains(|c: char| c.is_control()));
            for short in [clip(&clean, words), condense(&clean, words)] {
                prop_assert!(count_words(&short) <= words, "{short:?}");
                prop_assert!(short.chars().count() <= words * CHARS_PER_WORD + 2);
            }
        }

        #[test]
        fn no_punctuation_of_any_script_breaks_it(
            text in "[数а。！？….!? a]{0,400}", words in 1_usize..40,
        ) {
            let clean = clean(&text);
            for short in [clip(&clean, words), condense(&clean, words), clip(&text, words)] {
                prop_assert!(short.chars().count() <= words * CHARS_PER_WORD + 2, "{short:?}");
            }
        }

        #[test]
        fn words_are_not_cut_in_two(text in "([a-z]{1,8} ){1,60}[a-z]{1,8}", words in 1_usize..40) {
            let cut = clip(&text, words);
            let cut = cut.trim_end_matches('…');
            prop_assert!(text.starts_with(cut));
            let rest = &text[cut.len()..];
            prop_assert!(rest.is_empty() || rest.starts_with(' '));
        }
    }
}
