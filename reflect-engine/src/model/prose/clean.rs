use reflect_types::neutral;

use super::list::without_list_mark;

/// The part of a long text that is read, in bytes.
const MAX_READ: usize = 64 * 1024;

/// The text on one line, without list marks, bold and what a terminal must not get.
pub(in crate::model) fn clean(text: &str) -> String {
    let text = neutral::for_terminal(head(text, MAX_READ));
    let mut clean = String::with_capacity(text.len().min(1024));
    for line in text.split('\n') {
        let line = line.trim();
        let item = without_list_mark(line);
        if item.len() < line.len() && clean.ends_with(|c: char| c.is_alphanumeric() || c == ')') {
            clean.push(';');
        }
        if is_clean(item) {
            if !clean.is_empty() && !item.is_empty() {
                clean.push(' ');
            }
            clean.push_str(item);
            continue;
        }
        for word in item.split_whitespace() {
            let before = clean.len();
            if !clean.is_empty() {
                clean.push(' ');
            }
            let start = clean.len();
            if word.contains('*') {
                clean.push_str(&word.replace("**", ""));
            } else {
                clean.push_str(word);
            }
            if clean.len() == start {
                clean.truncate(before);
            }
        }
    }
    clean
}

/// Whether a line without spaces at its end stays as it is. Most do, and a look is faster than a copy by words.
fn is_clean(line: &str) -> bool {
    let is_plain = |byte| matches!(byte, b' '..=b'~') && byte != b'*';
    line.bytes().all(is_plain) && !line.starts_with(' ') && !line.contains("  ")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_comes_on_one_line_without_marks() {
        assert_eq!(clean("  a\tb\n\n c\u{0}\u{202e}d \u{7} "), "a b cd");
        assert_eq!(
            clean("  a  b \n\nc d\n** **\n1.  é\n2.  e"),
            "a b c d; é; e"
        );
        assert_eq!(
            clean("Details:\n- **Cabin**: economy\n- Bags: 3\n1. First\nwrapped line"),
            "Details: Cabin: economy; Bags: 3; First wrapped line"
        );
    }
}
