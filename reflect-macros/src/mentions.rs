//! Names in a piece of code.

use proc_macro2::{TokenStream, TokenTree};
use syn::Ident;
use syn::ext::IdentExt;

/// Whether the tokens contain the name, be it in the text of a format string.
pub(crate) fn mentions(tokens: &TokenStream, name: &Ident) -> bool {
    look_for(tokens.clone(), &name.unraw().to_string())
}

fn look_for(tokens: TokenStream, name: &str) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Group(group) => look_for(group.stream(), name),
        TokenTree::Ident(ident) => ident.unraw() == name,
        TokenTree::Literal(literal) => literal.to_string().contains(name),
        TokenTree::Punct(_) => false,
    })
}
