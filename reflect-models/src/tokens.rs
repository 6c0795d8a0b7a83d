//! Token counts without the model's vocabulary.

use reflect_types::markup;

/// The number of tokens of a text between [tags](crate::data), estimated: four ASCII characters make a
/// token, and so does any other character. This fits prose; code, digits and encoded data may have
/// twice as many.
///
/// ```
/// use reflect_models::tokens;
///
/// assert_eq!(tokens::estimate("Refund order 7"), 4);
/// assert_eq!(tokens::estimate("返金"), 2);
/// ```
pub fn estimate(text: &str) -> usize {
    text.chars().map(quarters).sum::<usize>().div_ceil(4)
}

/// The cost of a character in quarters of a token, after [`data`](crate::data) has escaped it.
fn quarters(c: char) -> usize {
    match markup::entity(c) {
        Some(entity) => entity.len(),
        None if c.is_ascii() => 1,
        None => 4,
    }
}

/// The text in at most `most` tokens; a longer one has a marked gap in its middle.
///
/// ```
/// use reflect_models::tokens;
///
/// assert_eq!(tokens::clip("A short text", 10), "A short text");
/// let clipped = tokens::clip(&format!("begin {} end", "more ".repeat(100)), 12);
/// assert!(clipped.starts_with("begin more ") && clipped.ends_with(" end"));
/// assert!(clipped.contains("[… left out …]"));
/// ```
pub fn clip(text: &str, most: usize) -> String {
    const MARK: &str = " [… left out …] ";

    if estimate(text) <= most {
        return text.to_owned();
    }
    let room = most.saturating_sub(estimate(MARK));
    let head = prefix(text, room.div_ceil(2));
    if head.is_empty() {
        // There is no room for the mark.
        return prefix(text, most).to_owned();
    }
    let tail = suffix(&text[head.len()..], room / 2);
    format!("{head}{MARK}{tail}")
}

/// The text on one line, [clipped](clip) to `most` tokens.
///
/// ```
/// use reflect_models::tokens;
///
/// assert_eq!(tokens::one_line("No\n  date. ", 10), "No date.");
/// ```
pub fn one_line(text: &str, most: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    clip(&words.join(" "), most)
}

/// The longest beginning of the text with at most `most` tokens.
pub fn prefix(text: &str, most: usize) -> &str {
    let end = fitting(
        text.char_indices().map(|(at, c)| (at + c.len_utf8(), c)),
        most,
    );
    &text[..end]
}

/// The longest end of the text with at most `most` tokens.
fn suffix(text: &str, most: usize) -> &str {
    let start = fitting(text.char_indices().rev(), most);
    // 0 means that nothing fits, and here would be everything.
    if start == 0 && estimate(text) > most {
        return "";
    }
    &text[start..]
}

/// The last place within the limit of tokens.
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
    fn the_middle_is_cut_and_the_cut_is_marked() {
        let text = format!("head {} tail", "x ".repeat(500));
        let cut = clip(&text, 20);
        assert!(cut.starts_with("head") && cut.ends_with("tail"), "{cut}");
        assert!(cut.contains("[… left out …]"));
        assert_eq!(clip("short", 2), "short");
        assert_eq!(clip("&&&& is written longer", 7), "&&&& is writ");
    }

    proptest! {
        #[test]
        fn a_clipped_text_fits_as_data_and_keeps_its_beginning(
            text in "[a-z &<>\n]{0,300}|\\PC{0,300}",
            most in 2_usize..200,
        ) {
            let cut = clip(&text, most);
            prop_assert!(estimate(&cut) <= most);
            // As it is sent: escaped.
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
