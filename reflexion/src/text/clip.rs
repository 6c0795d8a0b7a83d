use std::borrow::Cow;

/// Cuts the middle of a text longer than `max` characters, and says how much is cut.
pub(crate) fn clip(text: &str, max: usize) -> Cow<'_, str> {
    // Bytes are never fewer than characters, so short texts need no counting.
    if text.len() <= max {
        return Cow::Borrowed(text);
    }
    let total = text.chars().count();
    if total <= max {
        return Cow::Borrowed(text);
    }
    let head = max.div_ceil(2);
    let tail = max - head;
    let head_end = char_offset(text, head);
    let tail_start = char_offset(text, total - tail);
    Cow::Owned(format!(
        "{}\n[… {} characters left out …]\n{}",
        &text[..head_end],
        total - max,
        &text[tail_start..]
    ))
}

fn char_offset(text: &str, index: usize) -> usize {
    text.char_indices()
        .nth(index)
        .map_or(text.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_cut_and_counted() {
        assert_eq!(clip("short", 5), "short");
        assert_eq!(clip("abcdefghij", 4), "ab\n[… 6 characters left out …]\nij");
        assert_eq!(clip("abc", 0), "\n[… 3 characters left out …]\n");
    }

    #[test]
    fn characters_are_never_split() {
        let text = "é😀".repeat(50);
        assert_eq!(clip(&text, 100), text);
        assert!(clip(&text, 7).starts_with("é😀é😀\n[… 93 "));
    }
}
