//! Tokens as far as they can be counted without the model's own vocabulary.

/// About how many tokens a text has, as it stands within [tags](crate::data): four characters of
/// ASCII make one, and so does every other character. It is a guess that fits prose; code, digits
/// and what is encoded may have twice as many.
///
/// ```
/// assert_eq!(reflect_models::tokens::estimate("Refund order 7"), 4);
/// assert_eq!(reflect_models::tokens::estimate("返金"), 2);
/// ```
pub fn estimate(text: &str) -> usize {
    text.chars().map(quarters).sum::<usize>().div_ceil(4)
}

/// What a character costs, in quarters of a token. Those that [`data`](crate::data) writes otherwise
/// cost what they become.
fn quarters(c: char) -> usize {
    match c {
        '&' => "&amp;".len(),
        '<' => "&lt;".len(),
        '>' => "&gt;".len(),
        c if c.is_ascii() => 1,
        _ => 4,
    }
}

/// The text in at most so many tokens: what is too much is cut from the middle, and said.
pub fn clip(text: &str, most: usize) -> String {
    const MARK: &str = " [… left out …] ";

    if estimate(text) <= most {
        return text.to_owned();
    }
    let room = most.saturating_sub(estimate(MARK));
    let head = prefix(text, room.div_ceil(2));
    if head.is_empty() {
        // No room to say that something is left out, and what.
        return prefix(text, most).to_owned();
    }
    let tail = suffix(&text[head.len()..], room / 2);
    format!("{head}{MARK}{tail}")
}

/// The longest beginning of the text that fits.
pub fn prefix(text: &str, most: usize) -> &str {
    let end = fitting(
        text.char_indices().map(|(at, c)| (at + c.len_utf8(), c)),
        most,
    );
    &text[..end]
}

/// The longest end of the text that fits.
fn suffix(text: &str, most: usize) -> &str {
    let start = fitting(text.char_indices().rev(), most);
    // Nothing fitting is said as 0, which here would be everything.
    if start == 0 && estimate(text) > most {
        return "";
    }
    &text[start..]
}

/// The last place that is reached without exceeding the tokens.
fn fitting(places: impl Iterator<Item = (usize, char)>, most: usize) -> usize {
    let (mut spent, mut last) = (0, 0);
    for (at, c) in places {
        spent += quarters(c);
        if spent > most.saturating_mul(4) {
            break;
        }
        last = at;
    }
    last
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_middle_is_cut_and_the_cut_is_said() {
        let text = format!("head {} tail", "x ".repeat(500));
        let cut = clip(&text, 20);
        assert!(cut.starts_with("head") && cut.ends_with("tail"), "{cut}");
        assert!(cut.contains("[… left out …]"));
        assert_eq!(clip("short", 2), "short");
        assert_eq!(clip("&&&& is written longer", 7), "&&&& is writ");
    }

    proptest! {
        #[test]
        fn what_is_cut_fits_as_data_and_keeps_its_beginning(
            text in "[a-z &<>\n]{0,300}|\\PC{0,300}",
            most in 2_usize..200,
        ) {
            let cut = clip(&text, most);
            prop_assert!(estimate(&cut) <= most);
            // As it is sent: escaped, and each character for what it is.
            let sent = crate::data("t", &cut);
            let sent = &sent["<t>\n".len()..sent.len() - "\n</t>".len()];
            let ascii = sent.bytes().filter(u8::is_ascii).count();
            let other = sent.chars().filter(|c| !c.is_ascii()).count();
            prop_assert!(ascii.div_ceil(4) + other <= most, "{sent}");
            if let (Some(first), Some(cut_first)) = (text.chars().next(), cut.chars().next()) {
                prop_assert_eq!(first, cut_first);
            }
        }
    }
}
