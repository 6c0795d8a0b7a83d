//! Untrusted text, made safe to show in a terminal or to put into a prompt.
//!
//! Both functions return the text itself where nothing has to change, and change nothing in their own
//! result.

mod joiners;
mod sequences;
mod tags;

use std::borrow::Cow;

use crate::text::{is_bidi, is_invisible, is_joiner};

/// The text without terminal sequences and without control, bidi and invisible characters, for a
/// terminal.
///
/// Newlines and tabs stay, and other line breaks become newlines. Joiners and variation selectors stay
/// inside emoji and after letters of scripts that need them.
///
/// ```
/// use reflect_types::neutral;
///
/// assert_eq!(neutral::for_terminal("a\u{1b}[2Jb\u{202e}c\u{200b}\r\nd"), "abc\nd");
/// assert_eq!(neutral::for_terminal("می‌خواهم 👩‍🔬"), "می‌خواهم 👩‍🔬");
/// ```
pub fn for_terminal(text: &str) -> Cow<'_, str> {
    // Most text is ASCII, and its bytes are read faster than characters.
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
    let plain = text.bytes().take_while(is_plain).count();
    let mut rest = text[plain..].chars();
    if !rest.any(|c| is_hidden(c) || is_joiner(c)) {
        return Cow::Borrowed(text);
    }
    let plain = sequences::removed(text);
    Cow::Owned(joiners::placed(&plain))
}

/// The text of [`for_terminal`] with `‹` and `›` for the brackets of anything that could be a tag, for
/// a prompt: it can neither close the tags around it nor open others of their names. Comparisons such as
/// `a < b` stay, and so do types such as `Vec<String>` unless their parameter has the name of a tag.
///
/// ```
/// use reflect_types::neutral;
///
/// assert_eq!(neutral::for_prompt("x < / Past_Task > y"), "x ‹ / Past_Task › y");
/// assert_eq!(neutral::for_prompt("if a < b && c > d"), "if a < b && c > d");
/// ```
pub fn for_prompt(text: &str) -> Cow<'_, str> {
    match for_terminal(text) {
        plain if !plain.contains(tags::OPENING) => plain,
        plain => Cow::Owned(tags::defused(&plain)),
    }
}

/// Whether [`for_terminal`] removes or replaces the character wherever it is. Newlines and tabs are not
/// among these characters.
///
/// ```
/// assert!(reflect_types::neutral::is_hidden('\u{9b}'));
/// assert!(!reflect_types::neutral::is_hidden('\n'));
/// ```
pub fn is_hidden(c: char) -> bool {
    // Most text is ASCII, and its classes are cheap.
    if c.is_ascii() {
        return c.is_ascii_control() && !matches!(c, '\n' | '\t');
    }
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') || is_bidi(c) || is_invisible(c)
}

/// The text in at most `most` characters; a longer one is cut and ends in `…`.
///
/// ```
/// use reflect_types::neutral;
///
/// assert_eq!(neutral::excerpt("Refund order 7", 7), "Refund…");
/// assert_eq!(neutral::excerpt("Refund", 7), "Refund");
/// ```
pub fn excerpt(text: &str, most: usize) -> Cow<'_, str> {
    if text.chars().nth(most).is_none() {
        return Cow::Borrowed(text);
    }
    let kept = text.char_indices().nth(most.saturating_sub(1));
    let end = kept.map_or(0, |(end, _)| end);
    Cow::Owned(format!("{}…", &text[..end]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Characters of every class, so that they meet.
    const MIXED: &str = "[\u{1b}\u{9b}\u{9d}\u{9c}\u{7}\r\n\t<>＜＞﹤/ a1mM\\[\\]\\\\;\u{200b}\u{200c}\u{200d}\u{fe0f}\u{180b}\u{2028}\u{202e}\u{e0041}😀❤م가\u{20e3}|]{0,60}";

    fn hidden_in(text: &str) -> Option<char> {
        text.chars().find(|c| is_hidden(*c))
    }

    #[test]
    fn ordinary_text_is_borrowed() {
        for text in ["Refund order 7\n\tnow", "a < b, x > y & z", "Größe 東京 ½"] {
            assert!(matches!(for_terminal(text), Cow::Borrowed(_)), "{text}");
            assert_eq!(for_prompt(text), text);
        }
    }

    #[test]
    fn an_excerpt_keeps_to_its_limit() {
        assert_eq!(excerpt("üüüü", 3), "üü…");
        assert_eq!(excerpt("üüü", 3), "üüü");
        assert_eq!(excerpt("ü", 0), "…");
        assert_eq!(excerpt("", 0), "");
    }

    proptest! {
        #[test]
        fn neutral_text_stays_as_it_is(any: String, mixed in MIXED) {
            for text in [any, mixed] {
                for neutral in [for_terminal, for_prompt] {
                    let once = neutral(&text);
                    prop_assert_eq!(&neutral(&once), &once);
                    prop_assert_eq!(hidden_in(&once), None);
                }
            }
        }

        #[test]
        fn no_tag_is_left(before in MIXED, name in "[a-zA-Z_]{1,12}", token in "x[a-z_]{0,9}", after in MIXED) {
            let text = format!("{before}</{name}>{after} <{name}>{before}<memory>{after}<{token}>");
            let once = for_prompt(&text);
            for tag in [format!("</{name}"), format!(" <{name}"), "<memory".to_owned(), format!("<{token}")] {
                prop_assert!(!once.contains(&tag), "{once}");
            }
        }

        #[test]
        fn an_excerpt_of_anything_fits(text: String, most in 1_usize..40) {
            prop_assert!(excerpt(&text, most).chars().count() <= most);
        }
    }
}
