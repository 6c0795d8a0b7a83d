use super::list::is_list_number;

const ENDS: [char; 7] = ['.', '!', '?', '…', '。', '！', '？'];

/// The sentences of a clean text, each with its punctuation.
pub(in crate::model) fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    let all = std::iter::from_fn(move || {
        let (sentence, after) = rest.split_at(first_end(rest)?);
        rest = after;
        Some(sentence.trim())
    });
    all.filter(|sentence| !sentence.is_empty())
}

/// Where the first sentence of a text ends; `None` if there is no text.
fn first_end(text: &str) -> Option<usize> {
    let ends = |(at, c): (usize, char)| {
        let end = at + c.len_utf8();
        let is_end = match c {
            '。' | '！' | '？' => true,
            // A lower-case letter follows an abbreviation.
            '.' | '!' | '?' | '…' => {
                let mut after = text[end..].chars();
                let (next, then) = (after.next(), after.next());
                next.is_none_or(|c| c == ' ')
                    && !then.is_some_and(char::is_lowercase)
                    && !(c == '.' && is_part_of_word(&text[..at], then))
            }
            _ => false,
        };
        is_end.then_some(end)
    };
    let end = text.char_indices().find_map(ends);
    end.or_else(|| Some(text.len()).filter(|length| *length > 0))
}

/// Whether the full stop after the beginning of a sentence ends no sentence.
fn is_part_of_word(text: &str, next: Option<char>) -> bool {
    is_list_number(text) || is_abbreviated(text, next)
}

/// Whether the full stop after a text belongs to its last word, as in `Dr. Lee` and `Hauptstr. 5`.
fn is_abbreviated(text: &str, next: Option<char>) -> bool {
    const BEFORE_NAMES: [&str; 6] = ["Mr", "Mrs", "Ms", "Dr", "Prof", "vs"];
    const BEFORE_NUMBERS: [&str; 5] = ["No", "Nr", "ca", "approx", "Str"];
    let word = text.rsplit(|c: char| !c.is_alphanumeric()).next();
    let word = word.unwrap_or_default();
    let is_street = || word.starts_with(char::is_uppercase) && word.ends_with("str");
    let counts = || BEFORE_NUMBERS.contains(&word) || is_street();
    BEFORE_NAMES.contains(&word) || next.is_some_and(|c| c.is_ascii_digit()) && counts()
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
    let is_finished = |last: &str| match last.strip_suffix('.') {
        Some(before) => !is_part_of_word(before, None),
        None => last.ends_with(ENDS),
    };
    let unfinished = sentences(text).last().filter(|last| !is_finished(last));
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
            sentences(text).collect::<Vec<_>>(),
            [
                "Pay 3.50 at most.",
                "Is it big, i.e. two?",
                "好。",
                "走！",
                "Rest"
            ]
        );
        let text = "Ask Dr. Lee in Hauptstr. 5. No. Cast it to str. Go.";
        let asked: Vec<_> = sentences(text).collect();
        let expected = [
            "Ask Dr. Lee in Hauptstr. 5.",
            "No.",
            "Cast it to str.",
            "Go.",
        ];
        assert_eq!(asked, expected);
        let listed: Vec<_> = sentences("1. One. 2. Two.").collect();
        assert_eq!(listed, ["1. One.", "2. Two."]);
    }

    #[test]
    fn a_title_finishes_no_sentence() {
        assert_eq!(whole_sentences("Go. Ask Dr."), "Go.");
        assert_eq!(whole_sentences("Go. Ask him."), "Go. Ask him.");
        assert_eq!(whole_sentences("Go. 2."), "Go.");
    }
}
