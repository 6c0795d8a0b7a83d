//! Addresses of pages.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// All but the characters that every part of an address may have.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The address of a page of a project, such as `/p/support/traces/7`. The parts after the project are
/// escaped.
pub fn in_project(project: &str, parts: &[&str]) -> String {
    let mut path = format!("/p/{}", escaped(project));
    for part in parts {
        path.push('/');
        path.push_str(&escaped(part));
    }
    path
}

/// The address of the queue with a trace opened, the last review to undo, and the traces that were skipped.
pub fn review_address(project: &str, trace: &str, last: &str, skipped: &[&str]) -> String {
    let mut parameters = vec![("trace", trace), ("last", last)];
    parameters.extend(skipped.iter().map(|id| ("skipped", *id)));
    format!("{}{}", in_project(project, &["review"]), query(&parameters))
}

/// A query string of the parameters that have a value, with its question mark.
pub(crate) fn query(parameters: &[(&str, &str)]) -> String {
    let mut query = String::new();
    for (name, value) in parameters.iter().filter(|(_, value)| !value.is_empty()) {
        query.push(if query.is_empty() { '?' } else { '&' });
        query.push_str(name);
        query.push('=');
        query.push_str(&escaped(value));
    }
    query
}

fn escaped(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}

/// The address at which the review of a trace is undone.
pub(crate) fn undo_address(project: &str, trace: &str) -> String {
    in_project(project, &["review", trace, "undo"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_never_leaves_its_segment() {
        assert_eq!(
            in_project("a/b", &["traces", "../?x"]),
            "/p/a%2Fb/traces/..%2F%3Fx"
        );
    }

    #[test]
    fn only_parameters_with_a_value_are_in_a_query() {
        assert_eq!(
            query(&[("q", "a&b"), ("model", ""), ("state", "fail")]),
            "?q=a%26b&state=fail"
        );
        assert_eq!(query(&[("q", "")]), "");
    }
}
