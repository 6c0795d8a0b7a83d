//! The words of tasks that people search for.

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// The characters of a task that can be searched for: the words of a row are limited.
const SEARCHED: usize = 50_000;

/// The longest word. PostgreSQL limits it to 2 kilobytes.
const LONGEST: usize = 100;

/// The words of a text, separated by spaces: in lower case, without accents.
pub(super) fn of(text: &str) -> String {
    words(text).collect::<Vec<_>>().join(" ")
}

/// The words of a search beyond which it ignores the rest.
const MOST: usize = 32;

/// The words of a search: the beginnings of words that a task has.
pub(super) fn to_search(text: &str) -> Vec<String> {
    words(text).take(MOST).collect()
}

fn words(text: &str) -> impl Iterator<Item = String> {
    let end = text.char_indices().nth(SEARCHED);
    let text = end.map_or(text, |(end, _)| &text[..end]);
    let plain: String = text
        .nfkd()
        .filter(|c| !is_combining_mark(*c))
        .flat_map(char::to_lowercase)
        .collect();
    let words: Vec<String> = plain
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(|word| word.chars().take(LONGEST).collect())
        .collect();
    words.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_plain_and_searches_take_no_operators() {
        assert_eq!(of("Réfund order-7, a@b.c!"), "refund order 7 a b c");
        assert_eq!(to_search("Refund* | '7'"), ["refund", "7"]);
        assert!(to_search(" *' ").is_empty());
    }
}
