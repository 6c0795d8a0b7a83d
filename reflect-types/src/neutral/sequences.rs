//! Terminal sequences and hidden characters.

use super::is_hidden;

const ESCAPE: char = '\u{1b}';

/// The text without hidden characters and terminal sequences; line breaks of any kind are newlines.
/// Joiners stay.
pub(super) fn removed(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((c, after)) = first(rest) {
        rest = after;
        match c {
            ESCAPE => rest = after_escape(after),
            '\u{9b}' => rest = after_parameters(after),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => rest = after_string(after),
            '\r' => {
                plain.push('\n');
                rest = after.strip_prefix('\n').unwrap_or(after);
            }
            '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => plain.push('\n'),
            hidden if is_hidden(hidden) => {}
            visible => plain.push(visible),
        }
    }
    plain
}

fn first(text: &str) -> Option<(char, &str)> {
    let mut characters = text.chars();
    characters.next().map(|c| (c, characters.as_str()))
}

/// What follows the sequence that an escape character begins.
fn after_escape(text: &str) -> &str {
    match first(text) {
        Some(('[', after)) => after_parameters(after),
        Some((']' | 'P' | 'X' | '^' | '_', after)) => after_string(after),
        _ => {
            let end = text.trim_start_matches(|c| matches!(c, ' '..='/'));
            match first(end) {
                Some(('0'..='~', after)) => after,
                _ => text,
            }
        }
    }
}

/// What follows the parameters of a control sequence; the text itself if it is not a sequence.
fn after_parameters(text: &str) -> &str {
    let end = text.trim_start_matches(|c| matches!(c, '0'..='?'));
    let end = end.trim_start_matches(|c| matches!(c, ' '..='/'));
    match first(end) {
        Some(('@'..='~', after)) => after,
        _ => text,
    }
}

/// What follows a string such as a title or a link; the text itself if the string has no end. It ends
/// before the next control character, which keeps this linear.
fn after_string(text: &str) -> &str {
    let end = text.trim_start_matches(|c: char| !c.is_control());
    match first(end) {
        Some(('\u{7}' | '\u{9c}', after)) => after,
        Some((ESCAPE, after)) => after.strip_prefix('\\').unwrap_or(text),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_are_removed_whole() {
        for (text, expected) in [
            ("a\u{1b}[31;1mb\u{1b}[0m", "ab"),
            ("a\u{9b}2Jb", "ab"),
            ("\u{1b}]0;title\u{7}a", "a"),
            ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{9d}52;c;AAAA\u{9c}a", "a"),
            ("\u{1b}Pq#0\u{1b}\\a", "a"),
            ("\u{1b}(Ba\u{1b}c\u{1b}7", "a"),
            ("\u{1b}[?25la\u{1b}[6 qb", "ab"),
        ] {
            assert_eq!(removed(text), expected, "{text:?}");
        }
    }

    #[test]
    fn the_text_after_an_unfinished_sequence_stays() {
        for (text, expected) in [
            ("\u{1b}]0;title\nthe rest", "0;title\nthe rest"),
            ("\u{1b}[12\nthe rest", "12\nthe rest"),
            ("\u{1b}\u{1b}[2J[2J", "[2J"),
            ("end\u{1b}", "end"),
            ("\u{1b}é", "é"),
        ] {
            assert_eq!(removed(text), expected, "{text:?}");
        }
    }

    #[test]
    fn line_breaks_become_newlines() {
        assert_eq!(
            removed("a\r\nb\rc\u{2028}d\u{85}e\u{c}f"),
            "a\nb\nc\nd\ne\nf"
        );
    }

    #[test]
    fn hidden_characters_are_removed() {
        assert_eq!(
            removed("a\u{0}\u{7f}\u{202e}\u{200b}\u{feff}\u{e0041}\u{ad}b"),
            "ab"
        );
    }
}
