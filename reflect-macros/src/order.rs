//! The drop order of arguments.
//!
//! A plain function drops its last argument first. A closure or an async block drops its captures in
//! the order in which its code mentions them, so the code mentions the last argument first.

use proc_macro2::{Span, TokenStream};
use quote::format_ident;
use syn::visit::{self, Visit};
use syn::{
    Attribute, FnArg, Ident, Pat, PatIdent, Receiver, ReceiverKind, Signature, Stmt, Type,
    parse_quote,
};

use crate::mentions::mentions;

/// The first statements of the closure or block that gets the arguments. There are none if at most one
/// argument can need dropping.
pub(crate) fn last_first(sig: &mut Signature, body: &TokenStream) -> Vec<Stmt> {
    let droppable = sig.inputs.iter().filter(|input| match input {
        FnArg::Receiver(receiver) => owns(receiver),
        FnArg::Typed(argument) => may_need_drop(&argument.ty),
    });
    if droppable.count() < 2 {
        return Vec::new();
    }
    let mut captured = Vec::new();
    for (index, input) in sig.inputs.iter_mut().enumerate().rev() {
        match input {
            FnArg::Receiver(receiver) => {
                let me: Ident = receiver.self_token.into();
                if owns(receiver) && mentions(body, &me) {
                    captured.push(parse_quote!(let _ = &#me;));
                }
            }
            FnArg::Typed(argument) if may_need_drop(&argument.ty) => {
                if let Pat::Wild(_) = *argument.pat {
                    let name = argument_name(index);
                    *argument.pat = parse_quote!(#name);
                }
                let attrs = argument.attrs.iter();
                let cfg: Vec<_> = attrs.filter(|attr| attr.path().is_ident("cfg")).collect();
                let mut names = Names::default();
                names.visit_pat(&argument.pat);
                // An unused argument is not captured, so that the compiler warns about it.
                let names = names.0.into_iter().rev();
                let names =
                    names.filter(|name| mentions(body, name) || name.to_string().starts_with('_'));
                captured.extend(names.map(|name| capture(&name, &cfg)));
            }
            FnArg::Typed(_) => {}
        }
    }
    captured
}

/// Makes a closure or a block capture the whole argument.
pub(crate) fn capture(name: &Ident, cfg: &[&Attribute]) -> Stmt {
    let allow = name
        .to_string()
        .starts_with('_')
        .then(|| -> Attribute { parse_quote!(#[allow(clippy::used_underscore_binding)]) });
    parse_quote!(#allow #(#cfg)* let _ = &#name;)
}

/// The name of an argument that has none.
pub(crate) fn argument_name(index: usize) -> Ident {
    format_ident!("__reflect_argument_{index}", span = Span::mixed_site())
}

/// Whether the receiver is no reference.
pub(crate) fn owns(receiver: &Receiver) -> bool {
    !matches!(receiver.kind, ReceiverKind::Reference(..))
}

/// Whether dropping a value of the type can have an effect.
pub(crate) fn may_need_drop(ty: &Type) -> bool {
    const NUMBERS: [&str; 16] = [
        "bool", "char", "f32", "f64", "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16",
        "u32", "u64", "u128", "usize",
    ];
    match ty {
        Type::Reference(_) | Type::Ptr(_) | Type::FnPtr(_) => false,
        Type::Group(group) => may_need_drop(&group.elem),
        Type::Paren(paren) => may_need_drop(&paren.elem),
        Type::Array(array) => may_need_drop(&array.elem),
        Type::Tuple(tuple) => tuple.elems.iter().any(may_need_drop),
        Type::Path(path) => !NUMBERS.iter().any(|number| path.path.is_ident(number)),
        _ => true,
    }
}

/// The names that a pattern binds.
#[derive(Default)]
struct Names(Vec<Ident>);

impl<'ast> Visit<'ast> for Names {
    fn visit_pat_ident(&mut self, name: &'ast PatIdent) {
        // Other names are constants or variants.
        let text = name.ident.to_string();
        if text.starts_with(|first: char| first == '_' || first.is_lowercase()) {
            self.0.push(name.ident.clone());
        }
        visit::visit_pat_ident(self, name);
    }
}
