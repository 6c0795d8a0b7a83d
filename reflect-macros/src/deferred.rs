//! Values of options that are computed in a closure, so that the SDK can catch their panics.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::quote_spanned;
use syn::{Expr, Ident};

/// A closure that computes `computed` from the user's `value`, and the statements before it: a value
/// that awaits or returns cannot be computed in a closure.
pub(crate) fn deferred(
    value: &TokenStream,
    computed: &TokenStream,
    there: Span,
) -> (TokenStream, TokenStream) {
    if leaves(value.clone()) {
        let name = Ident::new("__reflect_value", Span::mixed_site());
        return (
            quote_spanned!(there=> let #name = #computed;),
            quote_spanned!(there=> || #name),
        );
    }
    (TokenStream::new(), quote_spanned!(there=> || #computed))
}

/// Whether code may await, or leave the function.
pub(crate) fn leaves(code: TokenStream) -> bool {
    code.into_iter().any(|token| match token {
        TokenTree::Group(group) => leaves(group.stream()),
        TokenTree::Ident(name) => name == "await" || name == "return",
        TokenTree::Punct(punct) => punct.as_char() == '?',
        TokenTree::Literal(_) => false,
    })
}

/// Whether evaluating the expression runs no code that may panic.
pub(crate) fn is_plain(value: &Expr) -> bool {
    match value {
        Expr::Lit(_) | Expr::Path(_) => true,
        Expr::Field(field) => is_plain(&field.base),
        Expr::Group(group) => is_plain(&group.expr),
        Expr::Paren(paren) => is_plain(&paren.expr),
        Expr::Reference(reference) => is_plain(&reference.expr),
        Expr::Unary(unary) => matches!(&*unary.expr, Expr::Lit(_)),
        _ => false,
    }
}
