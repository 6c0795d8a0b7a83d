//! An `async fn` as a function that returns a future.
//!
//! The future of an `async fn` holds its arguments, and would hold the traced future as well, which
//! holds them again. Without that layer the future is half as large, and twice as many traced
//! functions can call each other before the compiler gives up on them.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote_spanned};
use syn::{Attribute, FnArg, Ident, Pat, ReceiverKind, Signature, Stmt, parse_quote};

use crate::mentions::mentions;

/// What no macro stands behind, and what means the same on a function that is not `async`.
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

/// Whether nothing but this macro needs the function to be `async`.
pub(crate) fn may_unfold(attrs: &[Attribute]) -> bool {
    attrs.iter().all(|attr| {
        let path = attr.path();
        let tool = path.segments.first().map(|first| first.ident.to_string());
        INERT.iter().any(|inert| path.is_ident(inert))
            || matches!(tool.as_deref(), Some("clippy" | "rustfmt" | "diagnostic"))
    })
}

/// Takes `async` off, and gives what to write into the async block, so that it holds every argument
/// until its end, as an `async fn` does.
pub(crate) fn unfold(sig: &mut Signature, code: &TokenStream) -> Vec<Stmt> {
    sig.asyncness = None;
    let mut held = Vec::new();
    for (index, input) in sig.inputs.iter_mut().enumerate() {
        match input {
            FnArg::Receiver(receiver) => {
                let by_value = !matches!(receiver.kind, ReceiverKind::Reference(..));
                let me: Ident = receiver.self_token.into();
                if by_value && !mentions(code, &me) {
                    held.push(parse_quote!(let _ = &#me;));
                }
            }
            FnArg::Typed(argument) => {
                if is_captured(&argument.pat, code) {
                    continue;
                }
                let name = format_ident!("argument_{index}", span = Span::mixed_site());
                let attrs = argument
                    .attrs
                    .iter()
                    .filter(|attr| !attr.path().is_ident("doc"));
                let pattern = &argument.pat;
                held.push(match &**pattern {
                    Pat::Wild(_) => parse_quote!(#(#attrs)* let _ = &#name;),
                    _ => parse_quote! {
                        #[allow(clippy::no_effect_underscore_binding)]
                        #(#attrs)*
                        let #pattern = { #name };
                    },
                });
                *argument.pat = parse_quote!(#name);
            }
        }
    }
    held
}

fn is_captured(pattern: &Pat, code: &TokenStream) -> bool {
    match pattern {
        Pat::Ident(name) if name.by_ref.is_none() && name.subpat.is_none() => {
            mentions(code, &name.ident)
        }
        _ => false,
    }
}

/// The return type of the unfolded function. The edition of these tokens is that of this crate, so
/// all lifetimes are captured, as they are by an `async fn`, in whatever edition it was written.
pub(crate) fn future_of(output: &impl ToTokens) -> TokenStream {
    quote_spanned!(Span::mixed_site()=>
        impl ::core::future::Future<Output = #output>
    )
}
