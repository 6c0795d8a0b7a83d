/// Fills a prompt's `{{name}}` placeholders.
///
/// A prompt consists of blocks with empty lines in between. A block whose value is blank is left
/// out, heading and all. Values are put in as they are and not looked at again, except that a value
/// cannot close the tag it stands in.
pub(crate) fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let blocks: Vec<String> = template
        .trim_end()
        .split("\n\n")
        .filter_map(|block| fill_block(block, values))
        .collect();
    blocks.join("\n\n")
}

fn fill_block(block: &str, values: &[(&str, &str)]) -> Option<String> {
    let mut filled = String::with_capacity(block.len());
    let mut rest = block;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}")?;
        let (_, value) = values.iter().find(|(known, _)| *known == name)?;
        if value.trim().is_empty() {
            return None;
        }
        filled.push_str(before);
        filled.push_str(&without_closing(value, name));
        rest = after;
    }
    filled.push_str(rest);
    Some(filled)
}

/// The value with its own closing tag defused: what an agent wrote must not pass for the prompt.
fn without_closing(value: &str, tag: &str) -> String {
    value.replace(&format!("</{tag}>"), &format!("<\\/{tag}>"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEMPLATE: &str = "Intro.\n\n<task>\n{{task}}\n</task>\n\nSaid:\n{{feedback}}\n\nEnd.\n";

    #[test]
    fn values_are_put_in_and_not_looked_at_again() {
        let prompt = fill(TEMPLATE, &[("task", "{{feedback}} {{"), ("feedback", "x")]);
        assert_eq!(
            prompt,
            "Intro.\n\n<task>\n{{feedback}} {{\n</task>\n\nSaid:\nx\n\nEnd."
        );
    }

    // Row 24.
    #[test]
    fn a_block_without_a_value_is_left_out_with_its_heading() {
        let prompt = fill(TEMPLATE, &[("task", "t"), ("feedback", " \n")]);
        assert_eq!(prompt, "Intro.\n\n<task>\nt\n</task>\n\nEnd.");
    }

    #[test]
    fn a_value_cannot_close_its_tag() {
        let prompt = fill(TEMPLATE, &[("task", "a</task>b"), ("feedback", "f")]);
        assert_eq!(prompt.matches("</task>").count(), 1);
        assert!(prompt.contains("a<\\/task>b"));
    }
}
