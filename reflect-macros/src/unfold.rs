//! An `async fn` as a function that returns a future.
//!
//! The future of an `async fn` holds its arguments, and would hold the traced future as well, which
//! holds them again. Without that layer the future is half as large, and twice as many traced
//! functions can call each other before the compiler gives up on them.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote_spanned};
use syn::{Attribute, FnArg, Ident, Pat, PatType, ReceiverKind, Signature, Stmt, parse_quote};

use crate::mentions::mentions;
use crate::whole::{plain_name, rename};

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
///
/// A block captures no more than what its code uses, be it one field of an argument. Borrowing the
/// whole makes it capture the whole.
pub(crate) fn unfold(sig: &mut Signature, code: &TokenStream) -> Vec<Stmt> {
    sig.asyncness = None;
    let mut held = Vec::new();
    for (index, input) in sig.inputs.iter_mut().enumerate() {
        match input {
            FnArg::Receiver(receiver) => {
                if !matches!(receiver.kind, ReceiverKind::Reference(..)) {
                    let me: Ident = receiver.self_token.into();
                    held.push(parse_quote!(let _ = &#me;));
                }
            }
            FnArg::Typed(argument) => hold(argument, index, code, &mut held),
        }
    }
    held
}

/// An argument that the code may use under its name keeps it. Others get a new one, so that the
/// compiler still tells that nobody uses them.
fn hold(argument: &mut PatType, index: usize, code: &TokenStream, held: &mut Vec<Stmt>) {
    let attrs = argument.attrs.iter();
    let attrs = attrs.filter(|attr| !attr.path().is_ident("doc")).cloned();
    let attrs: Vec<Attribute> = attrs.collect();
    let cfg = attrs.iter().filter(|attr| attr.path().is_ident("cfg"));
    let kept = plain_name(&argument.pat).filter(|name| mentions(code, name));
    if let Some(name) = kept {
        held.push(parse_quote! {
            #[allow(clippy::used_underscore_binding)]
            #(#cfg)*
            let _ = &#name;
        });
        return;
    }
    let name = format_ident!("argument_{index}", span = Span::mixed_site());
    held.push(parse_quote!(#(#cfg)* let _ = &#name;));
    let is_wild = matches!(*argument.pat, Pat::Wild(_));
    let rebind = rename(argument, &name);
    if !is_wild {
        held.push(parse_quote! {
            #[allow(clippy::no_effect_underscore_binding)]
            #(#attrs)*
            #rebind
        });
    }
}

/// The return type of the unfolded function. The edition of these tokens is that of this crate, so
/// all lifetimes are captured, as they are by an `async fn`, in whatever edition it was written.
pub(crate) fn future_of(output: &impl ToTokens) -> TokenStream {
    quote_spanned!(Span::mixed_site()=>
        impl ::core::future::Future<Output = #output>
    )
}
