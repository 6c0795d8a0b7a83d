//! Text of strangers, shown as text.

use std::fmt::Write as _;

use reflect_types::{Usage, neutral};

/// The text with every character that would hide or reorder text replaced by its code.
///
/// Line breaks become newlines. HTML is the template's to escape.
pub fn shown(text: &str) -> String {
    if !text.chars().any(neutral::is_hidden) {
        return text.to_owned();
    }
    let text = text.replace("\r\n", "\n");
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => shown.push('\n'),
            c if neutral::is_hidden(c) => {
                // Writing to a string cannot fail.
                let _ = write!(shown, "⟨U+{:04X}⟩", u32::from(c));
            }
            c => shown.push(c),
        }
    }
    shown
}

/// The text on one line, in at most `most` characters.
pub(crate) fn line(text: &str, most: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    shown(&neutral::excerpt(&words.join(" "), most))
}

/// A count with its noun: `1 run`, `2 runs`.
pub(crate) fn count(number: usize, one: &str, many: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        number => format!("{} {many}", grouped(number as u64)),
    }
}

/// A share from 0 to 1 in percent, such as `71 %`.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.0}\u{a0}%", share * 100.0)
}

/// The tokens that are read and written.
pub(crate) fn tokens(usage: Usage) -> String {
    let (input, output) = (grouped(usage.input_tokens), grouped(usage.output_tokens));
    format!("{input} in, {output} out")
}

/// A number with a comma between its thousands.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_shown_by_their_code() {
        assert_eq!(
            shown("a\u{202e}b\u{1b}[31m\r\nc\td"),
            "a⟨U+202E⟩b⟨U+001B⟩[31m\nc\td"
        );
        assert_eq!(shown("<b>naïve 👩‍🔬</b>"), "<b>naïve 👩‍🔬</b>");
    }

    #[test]
    fn a_line_has_no_breaks_and_an_end() {
        assert_eq!(line("Refund\n  order 7 today", 13), "Refund order…");
    }

    #[test]
    fn thousands_are_grouped() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(grouped(number), text);
        }
    }
}
