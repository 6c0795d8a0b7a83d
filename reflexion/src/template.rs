/// Fills the `{{name}}` placeholders of a prompt.
///
/// A prompt consists of blocks separated by empty lines. A block with a blank value is left out,
/// including its heading. Placeholders inside values are not filled, and a value cannot close the
/// tag around it.
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

/// Escapes the closing tag in a value, so that an agent's text cannot pass for the prompt.
fn without_closing(value: &str, tag: &str) -> String {
    value.replace(&format!("</{tag}>"), &format!("<\\/{tag}>"))
}
