//! Characters that a reader cannot see, or that change the order of what a reader sees.
//!
//! The tables are small and stable on purpose: they hold the characters without a glyph of Unicode 16,
//! not whole categories. Marks of the category `Cf` that have a glyph, such as the Arabic number signs,
//! are visible.

use std::ops::RangeInclusive;

/// Characters that set the direction of the text around them.
const BIDI: [RangeInclusive<char>; 4] = [
    '\u{61C}'..='\u{61C}',
    '\u{200E}'..='\u{200F}',
    '\u{202A}'..='\u{202E}',
    '\u{2066}'..='\u{2069}',
];

/// Characters that join or separate their neighbours, or choose the look of the one before.
const JOINERS: [RangeInclusive<char>; 4] = [
    '\u{180B}'..='\u{180D}',
    '\u{180F}'..='\u{180F}',
    '\u{200C}'..='\u{200D}',
    '\u{FE0E}'..='\u{FE0F}',
];

/// Characters without a glyph that no script or emoji needs in plain text.
const INVISIBLE: [RangeInclusive<char>; 17] = [
    // Soft hyphen, combining grapheme joiner.
    '\u{AD}'..='\u{AD}',
    '\u{34F}'..='\u{34F}',
    // Fillers of Hangul and Khmer.
    '\u{115F}'..='\u{1160}',
    '\u{17B4}'..='\u{17B5}',
    '\u{3164}'..='\u{3164}',
    '\u{FFA0}'..='\u{FFA0}',
    // Mongolian vowel separator.
    '\u{180E}'..='\u{180E}',
    // Zero-width space, word joiner and invisible operators, byte order mark.
    '\u{200B}'..='\u{200B}',
    '\u{2060}'..='\u{2065}',
    '\u{FEFF}'..='\u{FEFF}',
    // Deprecated format characters, interlinear annotations.
    '\u{206A}'..='\u{206F}',
    '\u{FFF0}'..='\u{FFFB}',
    // Variation selectors, except those of text and emoji.
    '\u{FE00}'..='\u{FE0D}',
    // Format characters of Egyptian, shorthand and music.
    '\u{13430}'..='\u{1343F}',
    '\u{1BCA0}'..='\u{1BCA3}',
    '\u{1D173}'..='\u{1D17A}',
    // Tags and the supplementary variation selectors.
    '\u{E0000}'..='\u{E0FFF}',
];

/// Control characters, and white space other than a space.
const CONTROLS_AND_SPACES: [RangeInclusive<char>; 9] = [
    '\u{0}'..='\u{1F}',
    '\u{7F}'..='\u{9F}',
    '\u{A0}'..='\u{A0}',
    '\u{1680}'..='\u{1680}',
    '\u{2000}'..='\u{200A}',
    '\u{2028}'..='\u{2029}',
    '\u{202F}'..='\u{202F}',
    '\u{205F}'..='\u{205F}',
    '\u{3000}'..='\u{3000}',
];

/// Whether the character sets the direction of the text around it, such as U+202E.
///
/// ```
/// assert!(reflect_types::text::is_bidi('\u{202E}'));
/// assert!(!reflect_types::text::is_bidi('א'));
/// ```
pub fn is_bidi(c: char) -> bool {
    within(&BIDI, c)
}

/// Whether the character joins or separates its neighbours, or chooses the look of the one before: it
/// is invisible alone, and part of emoji and of scripts such as Persian and Hindi.
///
/// ```
/// assert!("👩‍🔬".chars().any(reflect_types::text::is_joiner));
/// ```
pub fn is_joiner(c: char) -> bool {
    within(&JOINERS, c)
}

/// Whether the character has no glyph and no place in plain text: zero-width, tag and format
/// characters, fillers, and variation selectors other than those of text and emoji. Control
/// characters, [bidi](is_bidi) ones and [joiners](is_joiner) are not among them.
///
/// ```
/// assert!(reflect_types::text::is_invisible('\u{200B}'));
/// assert!(!"👩‍🔬 नी می‌خواهم".chars().any(reflect_types::text::is_invisible));
/// ```
pub fn is_invisible(c: char) -> bool {
    within(&INVISIBLE, c)
}

/// Whether the character is not allowed in a project's id: a control, [bidi](is_bidi) or
/// [invisible](is_invisible) character, a [joiner](is_joiner), or white space other than a space.
pub(crate) fn is_unprintable(c: char) -> bool {
    unprintable().any(|range| range.contains(&c))
}

/// The ranges of [`is_unprintable`].
pub(crate) fn unprintable() -> impl Iterator<Item = RangeInclusive<char>> {
    let tables: [&[RangeInclusive<char>]; 4] = [&CONTROLS_AND_SPACES, &BIDI, &JOINERS, &INVISIBLE];
    tables.into_iter().flatten().cloned()
}

fn within(ranges: &[RangeInclusive<char>], c: char) -> bool {
    ranges.iter().any(|range| range.contains(&c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_classes_are_apart() {
        for c in '\u{0}'..=char::MAX {
            let classes = [c.is_control(), is_bidi(c), is_joiner(c), is_invisible(c)];
            let count = classes.iter().filter(|class| **class).count();
            assert!(count <= 1, "U+{:04X}", u32::from(c));
        }
    }

    #[test]
    fn what_is_printable_is_neither_hidden_nor_white_space() {
        for c in '\u{0}'..=char::MAX {
            let space = c.is_whitespace() && c != ' ';
            let hidden = c.is_control() || is_bidi(c) || is_joiner(c) || is_invisible(c);
            assert_eq!(is_unprintable(c), space || hidden, "U+{:04X}", u32::from(c));
        }
    }

    #[test]
    fn hidden_characters_are_found() {
        for c in [
            '\u{200B}',
            '\u{2060}',
            '\u{FEFF}',
            '\u{AD}',
            '\u{E0041}',
            '\u{E0101}',
            '\u{FE00}',
            '\u{3164}',
        ] {
            assert!(is_invisible(c), "U+{:04X}", u32::from(c));
        }
        for c in ['\u{202E}', '\u{2066}', '\u{200F}', '\u{61C}'] {
            assert!(is_bidi(c), "U+{:04X}", u32::from(c));
        }
    }

    #[test]
    fn what_scripts_and_emoji_need_is_visible_text() {
        for text in ["👩‍🔬", "❤️", "می‌خواهم", "क्‍ष", "ᠠ᠋", "Größe", "東京", "a b\n"]
        {
            let hidden = |c: char| is_invisible(c) || is_bidi(c);
            assert!(!text.chars().any(hidden), "{text:?}");
        }
        for c in ['\u{200D}', '\u{200C}', '\u{FE0F}', '\u{180B}'] {
            assert!(is_joiner(c), "U+{:04X}", u32::from(c));
        }
    }
}
