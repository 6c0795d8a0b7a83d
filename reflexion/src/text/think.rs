use std::borrow::Cow;

const TAGS: [&str; 2] = ["think", "thinking"];

/// Strips `<think>…</think>` and `<thinking>…</thinking>` from a model's reply.
///
/// Text before a closing tag without an opening one is stripped too, because some chat templates
/// put the opening tag into the prompt; and so is a reply that starts with a tag it never closes.
/// A lone opening tag further on stays: the answer may be about it.
pub(crate) fn without_thoughts(reply: &str) -> Cow<'_, str> {
    let mut kept = String::new();
    let mut rest = reply;
    let mut found = false;
    while let Some(tag) = next_tag(rest) {
        let after = &rest[tag.end..];
        if tag.closing {
            // The text so far is thought, too.
            kept.clear();
            rest = after;
        } else if let Some(close) = next_closing(after) {
            kept.push_str(&rest[..tag.start]);
            rest = &after[close..];
        } else if kept.trim().is_empty() && rest[..tag.start].trim().is_empty() {
            return Cow::Borrowed("");
        } else {
            break;
        }
        found = true;
    }
    if !found {
        return Cow::Borrowed(reply);
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

/// The length of the tag at the start of the text, and whether it is a closing one.
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
    fn thoughts_are_stripped_anywhere() {
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
            assert_eq!(without_thoughts(reply), answer, "{reply}");
        }
    }

    #[test]
    fn an_unclosed_thought_leaves_no_answer() {
        assert_eq!(without_thoughts(" \n<think>SUCCESS is near"), "");
        assert_eq!(without_thoughts("<think>a</think><think>b"), "");
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
            assert_eq!(without_thoughts(reply), reply);
        }
    }
}
