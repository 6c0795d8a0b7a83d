//! An `async fn` as a function that returns a future.
//!
//! The future of an `async fn` holds its arguments and the traced future, which holds them again.
//! Without that layer the future is half as large, and twice as many traced functions can be nested
//! within the compiler's recursion limit.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::{Attribute, FnArg, Ident, Pat, PatType, Signature, Stmt, parse_quote};

use crate::mentions::mentions;
use crate::order::{argument_name, capture, may_need_drop, owns};
use crate::whole::{plain_name, rename};

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

/// Removes `async`, and returns the first statements of the async block, which make it hold every
/// argument until its end and drop them in the order of an `async fn`.
///
/// A block captures only the fields that its code uses; borrowing an argument captures all of it.
pub(crate) fn unfold(sig: &mut Signature, code: &TokenStream) -> Vec<Stmt> {
    sig.asyncness = None;
    let mut held = Held::default();
    for (index, input) in sig.inputs.iter_mut().enumerate() {
        match input {
            FnArg::Receiver(receiver) => {
                if owns(receiver) {
                    let me: Ident = receiver.self_token.into();
                    held.captures.push(parse_quote!(let _ = &#me;));
                }
            }
            FnArg::Typed(argument) => held.hold(argument, index, code),
        }
    }
    let captures = held.captures.into_iter().rev();
    captures.chain(held.rebinds).collect()
}

/// The statements of a block for its arguments.
#[derive(Default)]
struct Held {
    captures: Vec<Stmt>,
    /// In the order of the arguments, as in an `async fn`.
    rebinds: Vec<Stmt>,
    /// Whether one of the rebinds may need dropping, which happens before all that is only captured.
    rebinds_drop: bool,
}

impl Held {
    /// An argument that the code mentions, or whose name begins with `_`, keeps its name. Others get a
    /// new one and are rebound, so that the compiler warns about those that are not used.
    fn hold(&mut self, argument: &mut PatType, index: usize, code: &TokenStream) {
        let attrs = argument.attrs.iter();
        let attrs = attrs.filter(|attr| !attr.path().is_ident("doc")).cloned();
        let attrs: Vec<Attribute> = attrs.collect();
        let cfg: Vec<_> = attrs
            .iter()
            .filter(|attr| attr.path().is_ident("cfg"))
            .collect();
        let drops = may_need_drop(&argument.ty);
        let kept = plain_name(&argument.pat)
            .filter(|name| name.to_string().starts_with('_') || mentions(code, name));
        if let Some(name) = kept.filter(|_| !(drops && self.rebinds_drop)) {
            self.captures.push(capture(name, &cfg));
            return;
        }
        let name = argument_name(index);
        self.captures.push(parse_quote!(#(#cfg)* let _ = &#name;));
        let is_wild = matches!(*argument.pat, Pat::Wild(_));
        let rebind = rename(argument, &name);
        if is_wild && drops && self.rebinds_drop {
            self.rebinds.push(parse_quote!(#(#cfg)* let #name = #name;));
        } else if !is_wild {
            self.rebinds_drop |= drops;
            self.rebinds.push(parse_quote! {
                #[allow(clippy::no_effect_underscore_binding)]
                #(#attrs)*
                #rebind
            });
        }
    }
}

/// The return type of the unfolded function, with the span of the declared one. The tokens have the
/// edition of this crate, in which `impl Trait` captures all lifetimes, as an `async fn` does in every
/// edition.
pub(crate) fn future_of(output: &impl ToTokens, place: Span) -> TokenStream {
    quote_spanned!(Span::mixed_site().located_at(place)=>
        impl ::core::future::Future<Output = #output>
    )
}
