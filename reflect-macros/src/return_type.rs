//! The return type, for callers and for the body.

use proc_macro2::Span;
use quote::{ToTokens, quote_spanned};
use syn::{GenericArgument, Path, PathArguments, PathSegment, Type, TypeParamBound, parse_quote};

use crate::erase::{anonymous, has_impl, nameable};
use crate::private::Private;

/// The return type of a function.
pub(crate) struct Returned {
    /// The type in the signature that callers see.
    pub(crate) to_callers: Type,
    /// The plain type for documentation, if it differs. It takes names such as `Result` at face value,
    /// so it is not compiled.
    pub(crate) documented: Option<Type>,
    /// The type that callers get in the end: the output of a future, with `_` for `impl Trait`.
    pub(crate) given: Type,
    /// The type that the body returns and that is recorded, with `_` for `impl Trait`.
    pub(crate) recorded: Type,
    /// Whether callers get the output alone.
    pub(crate) unwrapped: bool,
    /// Whether the type is an `impl Trait` that does not name its output.
    pub(crate) hides_output: bool,
    /// The future of a function that returns one without being `async`.
    pub(crate) future: Option<FutureKind>,
}

/// A function that is not `async`, but returns a future.
pub(crate) struct FutureKind {
    pub(crate) boxed: bool,
    /// The declared type.
    pub(crate) declared: Type,
}

impl Returned {
    /// `opaque_future` says that the type is an alias of a boxed future.
    pub(crate) fn new(
        declared: &Type,
        is_async: bool,
        opaque_future: bool,
        keeps_result: bool,
        private: &Private,
    ) -> Self {
        let mut to_callers = declared.clone();
        if !is_async {
            if let Some(seen) = future_output(&mut to_callers) {
                // With the option `future`, a name such as `BoxFuture` is the user's own alias.
                if !(opaque_future && seen.by_name) {
                    let recorded = if seen.by_name {
                        output_of_future(&anonymous(declared))
                    } else {
                        anonymous(seen.output)
                    };
                    let (boxed, by_name) = (seen.boxed, seen.by_name);
                    let unwrapped = !keeps_result && unwrap(seen.output, private);
                    let given = if by_name {
                        None
                    } else {
                        Some(anonymous(seen.output))
                    };
                    let given = given.unwrap_or_else(|| output_of_future(&anonymous(&to_callers)));
                    let documented = if unwrapped {
                        documented_future(declared)
                    } else {
                        None
                    };
                    let declared = anonymous(declared);
                    return Self {
                        to_callers,
                        documented,
                        given,
                        recorded,
                        unwrapped,
                        hides_output: !unwrapped,
                        future: Some(FutureKind { boxed, declared }),
                    };
                }
            }
            if opaque_future {
                let declared = anonymous(declared);
                return Self {
                    to_callers,
                    documented: None,
                    given: output_of_future(&declared),
                    recorded: output_of_future(&declared),
                    unwrapped: false,
                    hides_output: false,
                    future: Some(FutureKind {
                        boxed: true,
                        declared,
                    }),
                };
            }
        }
        let recorded = nameable(declared);
        let unwrapped = !keeps_result && unwrap(&mut to_callers, private);
        Self {
            given: nameable(&to_callers),
            to_callers,
            documented: if unwrapped {
                documented(declared)
            } else {
                None
            },
            recorded,
            unwrapped,
            hides_output: !unwrapped,
            future: None,
        }
    }
}

/// Turns the type into its output. Returns `false` if that has no name.
fn unwrap(ty: &mut Type, private: &Private) -> bool {
    if !has_impl(ty) {
        // The compiler resolves aliases.
        *ty = output_of(ty, private);
        return true;
    }
    match look(ty) {
        Look::Plain => true,
        Look::Output(output) => {
            *ty = *output;
            true
        }
        Look::Other => false,
    }
}

/// The output of the type, if its names have their usual meaning.
fn documented(ty: &Type) -> Option<Type> {
    match look(ty) {
        _ if has_impl(ty) => None,
        Look::Plain => Some(ty.clone()),
        Look::Output(output) => Some(*output),
        Look::Other => None,
    }
}

/// Like [`documented`], for a type that is a future.
fn documented_future(ty: &Type) -> Option<Type> {
    let mut ty = ty.clone();
    let seen = future_output(&mut ty)?;
    *seen.output = documented(seen.output)?;
    Some(ty)
}

/// `<Type as TraceReturn>::Output` with the span of the type: the compiler merges an error of the
/// signature with the same one of the body.
fn output_of(ty: &Type, private: &Private) -> Type {
    let (first, last) = ends(ty);
    let open = quote_spanned!(first=> <);
    let output = quote_spanned!(last=> Output);
    parse_quote!(#open #ty as #private::TraceReturn>::#output)
}

/// `<Type as Future>::Output` with the span of the type.
fn output_of_future(ty: &Type) -> Type {
    let (first, last) = ends(ty);
    let open = quote_spanned!(first=> <);
    let output = quote_spanned!(last=> Output);
    parse_quote!(#open #ty as ::core::future::Future>::#output)
}

/// The first and the last span of the type.
fn ends(ty: &Type) -> (Span, Span) {
    let mut spans = ty.to_token_stream().into_iter().map(|token| token.span());
    let first = spans.next().unwrap_or_else(Span::mixed_site);
    (first, spans.last().unwrap_or(first))
}

/// What a type is if its names have their usual meaning.
enum Look {
    /// A text, or a `Result` or `Option` of one: it is its own output.
    Plain,
    /// A type with this output.
    Output(Box<Type>),
    Other,
}

fn look(ty: &Type) -> Look {
    match ty {
        Type::Group(group) => look(&group.elem),
        Type::Paren(paren) => look(&paren.elem),
        Type::Reference(reference) if is_str(&reference.elem) => Look::Plain,
        Type::Path(path) if path.qself.is_none() => look_at_path(&path.path),
        Type::ImplTrait(opaque) => {
            let mut bounds = opaque.bounds.clone();
            let output = bound_output(bounds.iter_mut(), "TraceReturn");
            output.map_or(Look::Other, |output| Look::Output(Box::new(output.clone())))
        }
        _ => Look::Other,
    }
}

fn look_at_path(path: &Path) -> Look {
    let Some(last) = path.segments.last() else {
        return Look::Other;
    };
    match (last.ident.to_string().as_str(), first_type(last)) {
        ("String", None) => Look::Plain,
        ("Box" | "Arc" | "Cow", Some(inner)) if is_str(inner) => Look::Plain,
        ("TraceResult", None) => Look::Output(Box::new(parse_quote!(::std::string::String))),
        ("TraceResult", Some(output)) => Look::Output(Box::new(output.clone())),
        ("Result" | "Option", Some(inner)) => match look(inner) {
            Look::Output(output) => Look::Output(Box::new(with_first_type(path, *output))),
            unchanged => unchanged,
        },
        _ => Look::Other,
    }
}

fn is_str(ty: &Type) -> bool {
    matches!(ty, Type::Path(path) if path.qself.is_none() && path.path.is_ident("str"))
}

fn first_type(segment: &PathSegment) -> Option<&Type> {
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

fn with_first_type(path: &Path, ty: Type) -> Type {
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

/// A type that is a future.
struct FutureType<'a> {
    output: &'a mut Type,
    boxed: bool,
    /// Whether it is known by its name alone, as `BoxFuture`.
    by_name: bool,
}

/// The type as a future, if it is visibly one.
fn future_output(ty: &mut Type) -> Option<FutureType<'_>> {
    let (output, boxed, by_name) = match ty {
        Type::Group(group) => return future_output(&mut group.elem),
        Type::Paren(paren) => return future_output(&mut paren.elem),
        Type::ImplTrait(opaque) => (
            bound_output(opaque.bounds.iter_mut(), "Future")?,
            false,
            false,
        ),
        Type::Path(path) => {
            let last = path.path.segments.last_mut()?;
            match last.ident.to_string().as_str() {
                "BoxFuture" | "LocalBoxFuture" => (types_mut(last).next_back()?, true, true),
                "Pin" => (boxed_output(types_mut(last).next()?)?, true, false),
                _ => return None,
            }
        }
        _ => return None,
    };
    Some(FutureType {
        output,
        boxed,
        by_name,
    })
}

/// The output of a `Box<dyn Future>`.
fn boxed_output(ty: &mut Type) -> Option<&mut Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last_mut()?;
    if last.ident != "Box" {
        return None;
    }
    match types_mut(last).next()? {
        Type::TraitObject(object) => bound_output(object.bounds.iter_mut(), "Future"),
        _ => None,
    }
}

/// The `Output` of the bound by this trait.
fn bound_output<'a>(
    bounds: impl Iterator<Item = &'a mut TypeParamBound>,
    name: &str,
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
                GenericArgument::AssocType(assoc) if assoc.ident == "Output" => {
                    return Some(&mut assoc.ty);
                }
                _ => {}
            }
        }
    }
    None
}
