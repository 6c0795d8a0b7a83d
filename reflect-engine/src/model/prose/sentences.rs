use super::list::is_list_number;

const ENDS: [char; 7] = ['.', '!', '?', '…', '。', '！', '？'];

/// The sentences of a clean text, each with its punctuation.
pub(in crate::model) fn sentences(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut start = 0;
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        let ends = match c {
            '。' | '！' | '？' => true,
            // A lower-case letter follows an abbreviation.
            '.' | '!' | '?' | '…' => {
                let mut after = text[end..].chars();
                let (next, then) = (after.next(), after.next());
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

/// The text with a full stop, unless it ends like a sentence, or with one in quotes.
pub(in crate::model) fn sentence(text: &str) -> String {
    let ended = text
        .trim_end_matches(['"', '\'', '”', '’', ')'])
        .ends_with(ENDS);
    format!("{text}{}", if ended || text.is_empty() { "" } else { "." })
}

/// The text in double quotes, with single quotes inside.
pub(in crate::model) fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "'"))
}

/// The text without an unfinished sentence at its end.
pub(super) fn whole_sentences(text: &str) -> &str {
    let text = text.trim_end();
    let unfinished = sentences(text)
        .last()
        .filter(|last| !last.ends_with(ENDS))
        .copied();
    let whole = unfinished.and_then(|last| text.strip_suffix(last));
    whole.unwrap_or(text).trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
