//! The words of a text as the uncased tokenizer of BERT splits them.

use unicode_normalization::UnicodeNormalization;
use unicode_properties::{
    GeneralCategory as Category, GeneralCategoryGroup, UnicodeGeneralCategory,
};

/// The text in lower case, without accents and controls, with spaces around ideographs.
pub(super) fn normalise(text: &str) -> String {
    if text.is_ascii() {
        return text.chars().filter_map(clean_ascii).collect();
    }
    let mut clean = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            c if is_space(c) => clean.push(' '),
            c if is_dropped(c) => {}
            c if is_ideograph(c) => clean.extend([' ', c, ' ']),
            c => clean.push(c),
        }
    }
    let bare = clean
        .nfd()
        .filter(|c| c.is_ascii() || c.general_category() != Category::NonspacingMark);
    // As a whole, because the form of a final sigma depends on the next character.
    bare.collect::<String>().to_lowercase()
}

/// The words of a normalised text; each punctuation character is one.
pub(super) fn words(normalised: &str) -> impl Iterator<Item = &str> {
    let mut rest = normalised;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let first = rest.chars().next()?;
        let end = if is_punctuation(first) {
            first.len_utf8()
        } else {
            rest.find(|c| is_space(c) || is_punctuation(c))
                .unwrap_or(rest.len())
        };
        let (word, after) = rest.split_at(end);
        rest = after;
        Some(word)
    })
}

/// Whether a word is punctuation.
pub(super) fn is_punctuation_mark(word: &str) -> bool {
    word.chars().all(is_punctuation)
}

fn clean_ascii(c: char) -> Option<char> {
    if is_space(c) {
        Some(' ')
    } else if c.is_ascii_control() {
        None
    } else {
        Some(c.to_ascii_lowercase())
    }
}

/// White space, including four separators that Unicode counts as controls.
fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

fn is_dropped(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    c == '\u{fffd}' || c.general_category_group() == GeneralCategoryGroup::Other
}

fn is_punctuation(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_punctuation();
    }
    c.general_category_group() == GeneralCategoryGroup::Punctuation
}

/// The ranges that BERT's tokenizer calls Chinese characters.
fn is_ideograph(c: char) -> bool {
    matches!(c,
        '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}' | '\u{20000}'..='\u{2a6df}'
        | '\u{2a700}'..='\u{2b73f}' | '\u{2b740}'..='\u{2b81f}' | '\u{2b920}'..='\u{2ceaf}'
        | '\u{f900}'..='\u{faff}' | '\u{2f800}'..='\u{2fa1f}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn split(text: &str) -> Vec<String> {
        words(&normalise(text)).map(str::to_owned).collect()
    }

    #[test]
    fn case_accents_and_controls_are_ignored() {
        assert_eq!(split("Caf\u{e9} ZÜ\u{0}RICH"), ["cafe", "zurich"]);
        assert_eq!(
            split("zero\u{200b}width\u{1d}and\ttab"),
            ["zerowidth", "and", "tab"]
        );
    }

    #[test]
    fn punctuation_and_ideographs_are_words() {
        assert_eq!(split("don't—stop"), ["don", "'", "t", "—", "stop"]);
        assert_eq!(split("日本 ok"), ["日", "本", "ok"]);
    }

    proptest! {
        #[test]
        fn the_ascii_path_gives_the_same_words(text in "[ -~\t\r\n\x00-\x1f]{0,40}") {
            // A character beyond ASCII that is dropped forces the general path.
            prop_assert_eq!(split(&text), split(&format!("{text}\u{fffd}")));
        }
    }
}
