//! An `async fn` as a function that returns a future.
//!
//! The future of an `async fn` holds its arguments and the traced future, which holds them again.
//! Without that layer the future is half as large, and twice as many traced functions can be nested
//! within the compiler's recursion limit.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::Attribute;

/// Built-in attributes that mean the same on a function that is not `async`.
const INERT: [&str; 12] = [
    "allow",
    "cfg",
    "cold",
    "deny",
    "deprecated",
    "doc",
    "expect",
    "forbid",
    "inline",
    "no_mangle",
    "track_caller",
    "warn",
];

/// Whether no other macro sees the function, which may need it to be `async`.
pub(crate) fn may_unfold(attrs: &[Attribute]) -> bool {
    attrs.iter().all(|attr| {
        let path = attr.path();
        let tool = path.segments.first().map(|first| first.ident.to_string());
        INERT.iter().any(|inert| path.is_ident(inert))
            || matches!(tool.as_deref(), Some("clippy" | "rustfmt" | "diagnostic"))
    })
}

/// The return type of the unfolded function, with the span of the declared one. The tokens have the
/// edition of this crate, in which `impl Trait` captures all lifetimes, as an `async fn` does in every
/// edition.
pub(crate) fn future_of(output: &impl ToTokens, place: Span) -> TokenStream {
    quote_spanned!(Span::mixed_site().located_at(place)=>
        impl ::core::future::Future<Output = #output>
    )
}
