//! An `async fn` as a function that returns a future.
//!
//! The future of an `async fn` holds its arguments, and would hold the traced future as well, which
//! holds them again. Without that layer the future is half as large, and twice as many traced
//! functions can call each other before the compiler gives up on them.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::{Attribute, FnArg, Ident, Pat, PatType, Signature, Stmt, parse_quote};

use crate::mentions::mentions;
use crate::order::{argument_name, capture, may_need_drop, owns};
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
/// until its end, and lets them go in the same order as an `async fn` does.
///
/// A block captures no more than what its code uses, be it one field of an argument. Borrowing the
/// whole makes it capture the whole.
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

/// What the block does with its arguments.
#[derive(Default)]
struct Held {
    captures: Vec<Stmt>,
    /// In the order of the arguments, as they would be in an `async fn`.
    rebinds: Vec<Stmt>,
    /// Whether one of these may need dropping, which is before all that is only captured.
    rebinds_drop: bool,
}

impl Held {
    /// An argument that the code may use under its name keeps it, and so does one whose name says
    /// that nobody does. Others get a new one, so that the compiler still tells that they are of no
    /// use.
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

/// The return type of the unfolded function, which stands where that was. The edition of these
/// tokens is that of this crate, so all lifetimes are captured, as they are by an `async fn`, in
/// whatever edition it was written.
pub(crate) fn future_of(output: &impl ToTokens, place: Span) -> TokenStream {
    quote_spanned!(Span::mixed_site().located_at(place)=>
        impl ::core::future::Future<Output = #output>
    )
}
