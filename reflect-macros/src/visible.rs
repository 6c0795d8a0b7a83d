//! Futures and streams, as a return type shows them.

use proc_macro2::Span;
use quote::{ToTokens, quote_spanned};
use syn::{GenericArgument, Path, PathArguments, PathSegment, Type, TypeParamBound, parse_quote};

use crate::private::Private;

/// A trait that a return type may show.
pub(crate) struct Shown {
    name: &'static str,
    output: &'static str,
    /// Usual names of a boxed one.
    aliases: [&'static str; 2],
}

pub(crate) const FUTURE: Shown = Shown {
    name: "Future",
    output: "Output",
    aliases: ["BoxFuture", "LocalBoxFuture"],
};

pub(crate) const STREAM: Shown = Shown {
    name: "Stream",
    output: "Item",
    aliases: ["BoxStream", "LocalBoxStream"],
};

/// A type that visibly is a future or a stream.
pub(crate) struct Visible<'a> {
    pub(crate) output: &'a mut Type,
    pub(crate) boxed: bool,
    /// Whether it is known by its name alone, as `BoxFuture`.
    pub(crate) by_name: bool,
}

impl Shown {
    /// The type as one of these, if it visibly is one.
    pub(crate) fn of<'a>(&self, ty: &'a mut Type) -> Option<Visible<'a>> {
        let (output, boxed, by_name) = match ty {
            Type::Group(group) => return self.of(&mut group.elem),
            Type::Paren(paren) => return self.of(&mut paren.elem),
            Type::ImplTrait(opaque) => {
                let output = bound_output(opaque.bounds.iter_mut(), self.name, self.output)?;
                (output, false, false)
            }
            Type::Path(path) => {
                let last = path.path.segments.last_mut()?;
                if self.aliases.iter().any(|alias| last.ident == alias) {
                    (types_mut(last).next_back()?, true, true)
                } else if last.ident == "Pin" {
                    (self.boxed_output(types_mut(last).next()?)?, true, false)
                } else {
                    return None;
                }
            }
            _ => return None,
        };
        Some(Visible {
            output,
            boxed,
            by_name,
        })
    }

    /// The output of a `Box<dyn …>`.
    fn boxed_output<'a>(&self, ty: &'a mut Type) -> Option<&'a mut Type> {
        let Type::Path(path) = ty else { return None };
        let last = path.path.segments.last_mut()?;
        if last.ident != "Box" {
            return None;
        }
        match types_mut(last).next()? {
            Type::TraitObject(object) => {
                bound_output(object.bounds.iter_mut(), self.name, self.output)
            }
            _ => None,
        }
    }
}

/// The associated type of the bound by this trait.
pub(crate) fn bound_output<'a>(
    bounds: impl Iterator<Item = &'a mut TypeParamBound>,
    name: &str,
    output: &str,
) -> Option<&'a mut Type> {
    for bound in bounds {
        let TypeParamBound::Trait(bound) = bound else {
            continue;
        };
        let Some(last) = bound.path.segments.last_mut() else {
            continue;
        };
        if last.ident != name {
            continue;
        }
        let PathArguments::AngleBracketed(generics) = &mut last.arguments else {
            continue;
        };
        for argument in &mut generics.args {
            match argument {
                GenericArgument::AssocType(assoc) if assoc.ident == output => {
                    return Some(&mut assoc.ty);
                }
                _ => {}
            }
        }
    }
    None
}

pub(crate) fn first_type(segment: &PathSegment) -> Option<&Type> {
    match &segment.arguments {
        PathArguments::AngleBracketed(list) => {
            list.args.iter().find_map(|argument| match argument {
                GenericArgument::Type(ty) => Some(ty),
                _ => None,
            })
        }
        _ => None,
    }
}

pub(crate) fn with_first_type(path: &Path, ty: Type) -> Type {
    let mut path = path.clone();
    if let Some(last) = path.segments.last_mut() {
        if let Some(first) = types_mut(last).next() {
            *first = ty;
        }
    }
    parse_quote!(#path)
}

fn types_mut(segment: &mut PathSegment) -> impl DoubleEndedIterator<Item = &mut Type> {
    let list = match &mut segment.arguments {
        PathArguments::AngleBracketed(list) => Some(&mut list.args),
        _ => None,
    };
    list.into_iter()
        .flatten()
        .filter_map(|argument| match argument {
            GenericArgument::Type(ty) => Some(ty),
            _ => None,
        })
}

/// `<Type as Future>::Output` with the span of the type.
pub(crate) fn output_of_future(ty: &Type) -> Type {
    let (first, last) = ends(ty);
    let open = quote_spanned!(first=> <);
    let output = quote_spanned!(last=> Output);
    parse_quote!(#open #ty as ::core::future::Future>::#output)
}

/// `<Type as Stream>::Item` with the span of the type.
pub(crate) fn item_of_stream(ty: &Type, private: &Private) -> Type {
    let (first, last) = ends(ty);
    let open = quote_spanned!(first=> <);
    let item = quote_spanned!(last=> Item);
    parse_quote!(#open #ty as #private::Stream>::#item)
}

/// The first and the last span of the type.
pub(crate) fn ends(ty: &Type) -> (Span, Span) {
    let mut spans = ty.to_token_stream().into_iter().map(|token| token.span());
    let first = spans.next().unwrap_or_else(Span::mixed_site);
    (first, spans.last().unwrap_or(first))
}
