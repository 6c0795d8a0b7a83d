//! Names in a piece of code.

use proc_macro2::{TokenStream, TokenTree};
use syn::Ident;
use syn::ext::IdentExt;

/// Whether the code may use the name: as an identifier, or anywhere in the text of a literal, which
/// some macro may read.
pub(crate) fn may_use(code: &TokenStream, name: &Ident) -> bool {
    look_for(code.clone(), &name.unraw().to_string(), &|text, name| {
        text.contains(name)
    })
}

/// Whether the code uses the name: as an identifier, or as an argument of a format string.
pub(crate) fn uses(code: &TokenStream, name: &Ident) -> bool {
    look_for(code.clone(), &name.unraw().to_string(), &formats)
}

fn look_for(code: TokenStream, name: &str, in_text: &impl Fn(&str, &str) -> bool) -> bool {
    code.into_iter().any(|token| match token {
        TokenTree::Group(group) => look_for(group.stream(), name, in_text),
        TokenTree::Ident(ident) => ident.unraw() == name,
        TokenTree::Literal(literal) => in_text(&literal.to_string(), name),
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
