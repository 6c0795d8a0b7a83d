//! Joiners and variation selectors where they have a meaning.

use std::ops::RangeInclusive;

use crate::text::is_joiner;

const JOINER: char = '\u{200D}';

/// Scripts whose letters change with a joiner or a non-joiner behind them: Arabic and its relatives,
/// the scripts of India, Burmese, Khmer, Mongolian, Adlam.
const JOINING: [RangeInclusive<char>; 9] = [
    '\u{600}'..='\u{8FF}',
    '\u{900}'..='\u{DFF}',
    '\u{1000}'..='\u{109F}',
    '\u{1780}'..='\u{18AF}',
    '\u{A800}'..='\u{A8FF}',
    '\u{FB50}'..='\u{FDFF}',
    '\u{FE70}'..='\u{FEFC}',
    '\u{11000}'..='\u{11FFF}',
    '\u{1E900}'..='\u{1E95F}',
];

/// The text without joiners and variation selectors that nothing around them needs. Other characters
/// stay.
pub(super) fn placed(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut before = None;
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        if is_joiner(c) && !before.is_some_and(|b| belongs(b, c, characters.peek())) {
            continue;
        }
        kept.push(c);
        before = Some(c);
    }
    kept
}

/// Whether a joiner belongs between its neighbours. That depends on what stays only, so that a second
/// look at the result comes to the same answer.
fn belongs(before: char, joiner: char, after: Option<&char>) -> bool {
    let is_letter = !is_joiner(before) && JOINING.iter().any(|script| script.contains(&before));
    match joiner {
        '\u{FE0E}' | '\u{FE0F}' => {
            let is_keycap = matches!(before, '0'..='9' | '#' | '*') && after == Some(&'\u{20E3}');
            is_emoji(before) || is_keycap
        }
        JOINER if is_emoji(before) || before == '\u{FE0F}' => after.is_some_and(|c| is_emoji(*c)),
        _ => is_letter,
    }
}

fn is_emoji(c: char) -> bool {
    matches!(c, '\u{A9}' | '\u{AE}' | '\u{203C}'..='\u{3299}' | '\u{1F000}'..='\u{1FAFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn emoji_and_scripts_keep_their_joiners() {
        for text in [
            "👩‍🔬",
            "❤️‍🔥",
            "🏳️‍🌈",
            "👩🏽‍💻",
            "1️⃣ #️⃣",
            "©️",
            "☎︎",
            "می‌خواهم",
            "क्‍ष",
            "ශ්‍රී",
            "ᠠ᠋",
        ] {
            assert_eq!(placed(text), text);
        }
    }

    #[test]
    fn other_joiners_are_removed() {
        for (text, expected) in [
            ("pass\u{200D}word\u{200C}s", "passwords"),
            ("\u{200D}a\u{FE0F}", "a"),
            ("😀\u{200D}\u{200D}\u{200C}a", "😀a"),
            ("😀\u{FE0F}\u{FE0F}\u{FE0F}", "😀\u{FE0F}"),
            ("م\u{200C}\u{200C}\u{200D}ی", "م\u{200C}ی"),
        ] {
            assert_eq!(placed(text), expected, "{text:?}");
        }
    }
}
