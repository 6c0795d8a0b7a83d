//! Escaping of untrusted text between tags.

/// The text with `&`, `<` and `>` as entities, so that it cannot close the tags around it.
///
/// ```
/// use reflect_types::markup;
///
/// assert_eq!(markup::escape("a </task> & b"), "a &lt;/task&gt; &amp; b");
/// ```
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match entity(c) {
            Some(entity) => safe.push_str(entity),
            None => safe.push(c),
        }
    }
    safe
}

/// The entity of a character that [`escape`] replaces.
pub fn entity(c: char) -> Option<&'static str> {
    match c {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        _ => None,
    }
}
