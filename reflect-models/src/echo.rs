//! Answers that repeat the template of a prompt instead of filling it in.

/// Whether a text fills in nothing: it is blank, a placeholder such as `...` or `string`, a part of the
/// template, or holds a description that stands between quotes in it.
///
/// ```
/// use reflect_models::echoes;
///
/// let template = r#"{"feedback": "what is right or wrong, in at most three sentences"}"#;
/// assert!(echoes("What is right or wrong", template));
/// assert!(echoes("...", template));
/// assert!(echoes("<the reason in your own words>", template));
/// assert!(!echoes("The date is wrong", template));
/// ```
pub fn echoes(text: &str, template: &str) -> bool {
    const PLACEHOLDERS: [&str; 8] = [
        " ",
        " string ",
        " text ",
        " n a ",
        " none ",
        " null ",
        " todo ",
        " placeholder ",
    ];
    /// Fewer words of a template may be an answer of their own.
    const FEWEST_WORDS: usize = 3;
    let text = text.trim();
    if text.starts_with('<') && text.find('>') == text.len().checked_sub(1) {
        return true;
    }
    let said = words(text);
    let count = |text: &str| text.split_whitespace().count();
    let quoted = template.split('"').map(words);
    let mut descriptions = quoted.filter(|quoted| count(quoted) >= FEWEST_WORDS);
    PLACEHOLDERS.contains(&said.as_str())
        || (count(&said) >= FEWEST_WORDS && words(template).contains(&said))
        || descriptions.any(|description| said.contains(&description))
}

/// The words in lower case, with one space around each.
fn words(text: &str) -> String {
    let lower = text.to_lowercase();
    let mut words = String::from(" ");
    for word in lower.split(|c: char| !c.is_alphanumeric()) {
        if !word.is_empty() {
            words.push_str(word);
            words.push(' ');
        }
    }
    words
}
