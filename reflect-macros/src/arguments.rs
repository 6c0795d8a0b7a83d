//! The lifetime and drop order of arguments.
//!
//! A plain function holds its arguments until its end, and drops the last one first. A closure or an
//! async block captures only the fields that its code uses, and drops its captures in the order in
//! which its code mentions them. So it begins by borrowing each argument, the last one first.

use proc_macro2::{Span, TokenStream};
use quote::format_ident;
use syn::visit::{self, Visit};
use syn::{
    Attribute, FnArg, Ident, Pat, PatIdent, PatType, ReceiverKind, Signature, Stmt, parse_quote,
};

use crate::usage::uses;

/// The first statements of the closure or async block with this code, which gets the arguments.
///
/// Arguments that are patterns stay in the signature, unless it is that of an `async fn` whose `async`
/// is removed: then the block destructures them when it is first polled.
pub(crate) fn hold(sig: &mut Signature, code: &TokenStream, unfolded: bool) -> Vec<Stmt> {
    let mut captures = Vec::new();
    let mut rebinds = Vec::new();
    for (index, input) in sig.inputs.iter_mut().enumerate().rev() {
        match input {
            FnArg::Receiver(receiver) => {
                let me: Ident = receiver.self_token.into();
                if !matches!(receiver.kind, ReceiverKind::Reference(..)) {
                    captures.push(parse_quote!(let _ = &#me;));
                }
            }
            FnArg::Typed(argument) => {
                let attrs = argument.attrs.clone();
                let cfg: Vec<_> = attrs
                    .iter()
                    .filter(|attr| attr.path().is_ident("cfg"))
                    .collect();
                // One that is not used keeps its name only in the signature, or gets it by a `let`, so
                // that the compiler warns about it.
                let kept = plain_name(&argument.pat)
                    .filter(|name| name.to_string().starts_with('_') || uses(code, name));
                if let Some(name) = kept {
                    captures.push(capture(name, &cfg));
                } else if let Pat::Wild(_) = *argument.pat {
                    let name = argument_name(index);
                    captures.push(capture(&name, &cfg));
                    *argument.pat = parse_quote!(#name);
                } else if unfolded {
                    let name = argument_name(index);
                    captures.push(capture(&name, &cfg));
                    rebinds.push(rebind(argument, &name));
                }
            }
        }
    }
    captures.extend(rebinds.into_iter().rev());
    captures
}

fn capture(name: &Ident, cfg: &[&Attribute]) -> Stmt {
    let allow = name
        .to_string()
        .starts_with('_')
        .then(|| -> Attribute { parse_quote!(#[allow(clippy::used_underscore_binding)]) });
    parse_quote!(#allow #(#cfg)* let _ = &#name;)
}

fn rebind(argument: &mut PatType, name: &Ident) -> Stmt {
    let attrs = argument.attrs.clone().into_iter();
    let attrs = attrs.filter(|attr| !attr.path().is_ident("doc"));
    let rebind = rename(argument, name);
    parse_quote! {
        #[allow(clippy::no_effect_underscore_binding)]
        #(#attrs)*
        #rebind
    }
}

/// The name of an argument that has none.
fn argument_name(index: usize) -> Ident {
    format_ident!("__reflect_argument_{index}", span = Span::mixed_site())
}

/// Renames the argument to `name`, and returns the `let` that destructures it. What the pattern does
/// not bind stays in the argument, and is dropped with it.
pub(crate) fn rename(argument: &mut PatType, name: &Ident) -> Stmt {
    let pattern = &argument.pat;
    let rebind = parse_quote!(let #pattern = #name;);
    let mut borrows = MutableBorrows(false);
    borrows.visit_pat(pattern);
    *argument.pat = if borrows.0 {
        parse_quote!(mut #name)
    } else {
        parse_quote!(#name)
    };
    rebind
}

/// Whether a pattern has a `ref mut`.
struct MutableBorrows(bool);

impl<'ast> Visit<'ast> for MutableBorrows {
    fn visit_pat_ident(&mut self, name: &'ast PatIdent) {
        self.0 |= name.by_ref.is_some() && name.mutability.is_some();
        visit::visit_pat_ident(self, name);
    }
}

/// The name of an argument that is a plain name.
pub(crate) fn plain_name(pattern: &Pat) -> Option<&Ident> {
    match pattern {
        Pat::Ident(name) if name.by_ref.is_none() && name.subpat.is_none() => Some(&name.ident),
        _ => None,
    }
}
