//! The use of a name in a piece of code.

use proc_macro2::{TokenStream, TokenTree};
use syn::Ident;
use syn::ext::IdentExt;

/// Whether the code uses the name: as an identifier, or as an argument of a format string.
pub(crate) fn uses(code: &TokenStream, name: &Ident) -> bool {
    mentions(code.clone(), &name.unraw().to_string())
}

fn mentions(code: TokenStream, name: &str) -> bool {
    code.into_iter().any(|token| match token {
        TokenTree::Group(group) => mentions(group.stream(), name),
        TokenTree::Ident(ident) => ident.unraw() == name,
        TokenTree::Literal(literal) => formats(&literal.to_string(), name),
        TokenTree::Punct(_) => false,
    })
}

/// Whether the text has an argument such as `{name:?}`, or a width or precision `name$`.
fn formats(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(start, _)| {
        let before = text[..start].trim_end().chars().next_back();
        let after = text[start + name.len()..].chars().next();
        match after {
            Some('$') => matches!(before, Some(':' | '.' | '<' | '^' | '>' | '+' | '#' | '0')),
            Some(next) => before == Some('{') && !(next == '_' || next.is_alphanumeric()),
            None => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::formats;

    #[test]
    fn only_arguments_of_a_format_string_are_uses() {
        for text in [
            "{it}",
            "a {it:?} b",
            "{ it }",
            "{:it$}",
            "{x:>it$}",
            "{:.it$}",
        ] {
            assert!(formats(text, "it"), "{text}");
        }
        for text in ["it", "do it: now", "{bit}", "{items}", "it$", "{x} it"] {
            assert!(!formats(text, "it"), "{text}");
        }
    }
}
