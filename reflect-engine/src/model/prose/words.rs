/// English words that say nothing about the topic of a text, sorted.
const COMMON_WORDS: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "been", "by", "can", "could", "did", "do", "does",
    "for", "from", "had", "has", "have", "he", "her", "his", "how", "i", "if", "in", "is", "it",
    "its", "me", "my", "no", "not", "of", "on", "or", "our", "she", "should", "so", "some", "than",
    "that", "the", "their", "them", "then", "there", "they", "this", "to", "was", "we", "were",
    "what", "when", "where", "which", "while", "who", "why", "will", "with", "would", "you",
    "your",
];

/// Whether a lower-case word says nothing about the topic of a text.
pub(in crate::model) fn is_common(word: &str) -> bool {
    COMMON_WORDS.binary_search(&word).is_ok()
}

/// Whether the text contains one of the words, given in lower case.
pub(super) fn has_word(text: &str, words: &[&str]) -> bool {
    text.to_lowercase()
        .split(|c: char| !(c.is_alphanumeric() || c == '\'' || c == '’'))
        .any(|word| words.contains(&word.replace('’', "'").as_str()))
}

/// The number of words.
pub(in crate::model) fn count_words(text: &str) -> usize {
    text.split_whitespace().count()
}

/// The first names, each once.
pub(in crate::model) fn distinct<'a>(
    names: impl Iterator<Item = &'a str>,
    limit: usize,
) -> Vec<String> {
    let mut distinct: Vec<String> = Vec::new();
    for name in names {
        if distinct.len() < limit && !distinct.iter().any(|known| known == name) {
            distinct.push(name.to_owned());
        }
    }
    distinct
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_common_words_are_sorted_for_the_search() {
        assert!(COMMON_WORDS.is_sorted());
    }
}
