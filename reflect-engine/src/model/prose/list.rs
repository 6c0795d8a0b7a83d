/// The line without the mark or number of a list item, heading or quotation.
pub(super) fn without_list_mark(line: &str) -> &str {
    let bare = line.trim_start_matches(['-', '*', '•', '#', '>']);
    if bare.len() < line.len() && bare.starts_with(' ') {
        return bare.trim_start();
    }
    match line.split_once(". ") {
        Some((number, item)) if is_list_number(number) => item,
        _ => line,
    }
}

/// Whether the text is the number of a list item.
pub(super) fn is_list_number(text: &str) -> bool {
    let text = text.trim_start();
    !text.is_empty() && text.len() <= 2 && text.bytes().all(|byte| byte.is_ascii_digit())
}
