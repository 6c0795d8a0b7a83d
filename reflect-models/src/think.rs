//! Answers of models that think aloud.

use std::borrow::Cow;

const TAGS: [&str; 2] = ["think", "thinking"];

/// The answer without `<think>…</think>` and `<thinking>…</thinking>` blocks.
///
/// Text before a closing tag that was never opened is a thought as well, since some chat templates
/// put the opening tag into the prompt. So is all of an answer that begins with a tag it never
/// closes. A single opening tag later on is text.
///
/// ```
/// use reflect_models::think;
///
/// assert_eq!(think::strip("<think>Is it 4?</think>4"), "4");
/// assert_eq!(think::strip("Is it 4?</think>4"), "4");
/// assert_eq!(think::strip("<think>Is it 4?"), "");
/// assert_eq!(think::strip("It printed <think>."), "It printed <think>.");
/// ```
pub fn strip(answer: &str) -> Cow<'_, str> {
    let mut kept = String::new();
    let mut rest = answer;
    let mut found = false;
    while let Some(tag) = next_tag(rest) {
        let after = &rest[tag.end..];
        if tag.closing {
            kept.clear();
            rest = after;
        } else if let Some(end) = next_closing(after) {
            kept.push_str(&rest[..tag.start]);
            rest = &after[end..];
        } else if kept.trim().is_empty() && rest[..tag.start].trim().is_empty() {
            return Cow::Borrowed("");
        } else {
            break;
        }
        found = true;
    }
    if !found {
        return Cow::Borrowed(answer);
    }
    kept.push_str(rest);
    Cow::Owned(kept)
}

struct Tag {
    start: usize,
    end: usize,
    closing: bool,
}

fn next_tag(text: &str) -> Option<Tag> {
    text.match_indices('<').find_map(|(start, _)| {
        let (length, closing) = tag_length(&text[start..])?;
        Some(Tag {
            start,
            end: start + length,
            closing,
        })
    })
}

/// The end of the next closing tag.
fn next_closing(text: &str) -> Option<usize> {
    let mut from = 0;
    loop {
        let tag = next_tag(&text[from..])?;
        from += tag.end;
        if tag.closing {
            return Some(from);
        }
    }
}

/// The length of the tag at the beginning of the text, and whether it is a closing one.
fn tag_length(text: &str) -> Option<(usize, bool)> {
    let (name, closing) = match text.as_bytes().get(1)? {
        b't' | b'T' => (&text[1..], false),
        b'/' => (&text[2..], true),
        _ => return None,
    };
    TAGS.iter().find_map(|tag| {
        let head = name.get(..tag.len())?;
        let closed = name[tag.len()..].starts_with('>');
        (closed && head.eq_ignore_ascii_case(tag))
            .then(|| (text.len() - name.len() + tag.len() + 1, closing))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thoughts_are_removed_wherever_they_stand() {
        for (reply, answer) in [
            ("plain", "plain"),
            ("<think>a</think>b", "b"),
            ("<THINK>a</Think>\nb", "\nb"),
            ("<thinking>a</thinking>b", "b"),
            ("x <think>a</think> y", "x  y"),
            ("<think>a<think>b</think>c", "c"),
            ("draft</think>final", "final"),
            ("a</think>b</think>c", "c"),
            ("<think>a</think>b<think>c</think>d", "bd"),
        ] {
            assert_eq!(strip(reply), answer, "{reply}");
        }
    }

    #[test]
    fn a_thought_without_end_leaves_no_answer() {
        assert_eq!(strip(" \n<think>SUCCESS is near"), "");
        assert_eq!(strip("<think>a</think><think>b"), "");
    }

    #[test]
    fn an_answer_may_mention_the_tag() {
        for reply in [
            "It printed <think> only.",
            "a < b",
            "<thinker>",
            "<",
            "<think",
            "é<é",
        ] {
            assert_eq!(strip(reply), reply);
        }
    }
}
