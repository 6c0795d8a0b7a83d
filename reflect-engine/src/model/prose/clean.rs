use super::list::without_list_mark;

/// The part of a long text that is read, in bytes.
const MAX_READ: usize = 64 * 1024;

/// The text on one line, without control characters, list marks and bold.
pub(in crate::model) fn clean(text: &str) -> String {
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

/// The first bytes of a text, cut between characters.
pub(in crate::model) fn head(text: &str, bytes: usize) -> &str {
    &text[..boundary(text, bytes)]
}

/// The last bytes of a text, cut between characters.
pub(in crate::model) fn tail(text: &str, bytes: usize) -> &str {
    &text[boundary(text, text.len().saturating_sub(bytes))..]
}

fn boundary(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0)
}

/// Control characters, and those that are invisible or change the writing direction.
pub(super) fn is_control(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffd}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_comes_on_one_line_without_marks() {
        assert_eq!(clean("  a\tb\n\n c\u{0}\u{202e}d \u{7} "), "a b cd");
        assert_eq!(
            clean("Details:\n- **Cabin**: economy\n- Bags: 3\n1. First\nwrapped line"),
            "Details: Cabin: economy; Bags: 3; First wrapped line"
        );
    }
}
