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

/// A search for texts that have a word with each of these beginnings; `None` if there are none.
pub(super) fn search(text: &str) -> Option<String> {
    // A word has no other characters than letters and digits, so it needs no escape.
    let words: Vec<String> = words(text).map(|word| format!("'{word}':*")).collect();
    (!words.is_empty()).then(|| words.join(" & "))
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
        assert_eq!(
            search("Refund* | '7'").as_deref(),
            Some("'refund':* & '7':*")
        );
        assert_eq!(search(" *' "), None);
    }
}
