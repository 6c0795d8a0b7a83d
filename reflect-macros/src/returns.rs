//! What a function returns: to its caller, and out of its body.

use proc_macro2::Span;
use quote::{ToTokens, quote_spanned};
use syn::visit_mut::{self, VisitMut};
use syn::{
    GenericArgument, Lifetime, Path, PathArguments, PathSegment, Type, TypeParamBound, parse_quote,
};

use crate::private::Private;

/// What a function returns.
pub(crate) struct Returned {
    /// What stands in the signature that callers see.
    pub(crate) to_callers: Type,
    /// The same for what is recorded, which is what the body ends with: the declared type, where
    /// the compiler fills in what cannot be named.
    pub(crate) recorded: Type,
    /// Whether the caller gets the output alone.
    pub(crate) unwrapped: bool,
    /// Whether the function returns a future without being `async`.
    pub(crate) future: Option<FutureKind>,
}

/// A function that is not `async`, but returns a future.
pub(crate) struct FutureKind {
    pub(crate) boxed: bool,
    /// The type of that future.
    pub(crate) declared: Type,
}

impl Returned {
    /// `private` is the path to the SDK's private parts; `opaque_future` says that the type is an
    /// alias of a boxed future.
    pub(crate) fn new(
        declared: &Type,
        is_async: bool,
        opaque_future: bool,
        keeps_result: bool,
        private: &Private,
    ) -> Self {
        let mut to_callers = declared.clone();
        if !is_async {
            if let Some((output, boxed)) = future_output(&mut to_callers) {
                let recorded = anonymous(output);
                let unwrapped = !keeps_result && unwrap(output, private);
                let declared = anonymous(declared);
                return Self {
                    to_callers,
                    recorded,
                    unwrapped,
                    future: Some(FutureKind { boxed, declared }),
                };
            }
            if opaque_future {
                return Self {
                    to_callers,
                    recorded: parse_quote!(_),
                    unwrapped: false,
                    future: Some(FutureKind {
                        boxed: true,
                        declared: anonymous(declared),
                    }),
                };
            }
        }
        let recorded = nameable(declared);
        let unwrapped = !keeps_result && unwrap(&mut to_callers, private);
        Self {
            to_callers,
            recorded,
            unwrapped,
            future: None,
        }
    }
}

/// Turns the type into what is left when the run's record is taken out of it. `false` if that
/// cannot be said, and the value must be given as it is.
fn unwrap(ty: &mut Type, private: &Private) -> bool {
    match look(ty) {
        Look::Plain => true,
        Look::Other if has_impl(ty) => false,
        Look::Other => {
            // An alias, maybe: the compiler sees through it.
            *ty = output_of(ty, private);
            true
        }
        Look::Output(output) => {
            *ty = *output;
            true
        }
    }
}

/// `<Type as TraceReturn>::Output`, which stands where the type stood: so the signature and the
/// body, if they complain about the type, complain in the same words, which are told once.
fn output_of(ty: &Type, private: &Private) -> Type {
    let mut spans = ty.to_token_stream().into_iter().map(|token| token.span());
    let first = spans.next().unwrap_or_else(Span::mixed_site);
    let last = spans.last().unwrap_or(first);
    let open = quote_spanned!(first=> <);
    let output = quote_spanned!(last=> Output);
    parse_quote!(#open #ty as #private::TraceReturn>::#output)
}

enum Look {
    /// A text, or something around one: nothing to take out.
    Plain,
    /// What is left of it.
    Output(Box<Type>),
    Other,
}

fn look(ty: &Type) -> Look {
    match ty {
        Type::Group(group) => look(&group.elem),
        Type::Paren(paren) => look(&paren.elem),
        Type::Reference(reference) if is_str(&reference.elem) => Look::Plain,
        Type::Path(path) if path.qself.is_none() => look_at_path(&path.path),
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

/// The output of a type that is visibly a future, and whether it is a boxed one.
fn future_output(ty: &mut Type) -> Option<(&mut Type, bool)> {
    match ty {
        Type::Group(group) => future_output(&mut group.elem),
        Type::Paren(paren) => future_output(&mut paren.elem),
        Type::ImplTrait(opaque) => Some((bound_output(opaque.bounds.iter_mut())?, false)),
        Type::Path(path) => {
            let last = path.path.segments.last_mut()?;
            match last.ident.to_string().as_str() {
                "BoxFuture" | "LocalBoxFuture" => Some((types_mut(last).next_back()?, true)),
                "Pin" => Some((boxed_output(types_mut(last).next()?)?, true)),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The output of a `Box<dyn Future>`.
fn boxed_output(ty: &mut Type) -> Option<&mut Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last_mut()?;
    if last.ident != "Box" {
        return None;
    }
    match types_mut(last).next()? {
        Type::TraitObject(object) => bound_output(object.bounds.iter_mut()),
        _ => None,
    }
}

fn bound_output<'a>(bounds: impl Iterator<Item = &'a mut TypeParamBound>) -> Option<&'a mut Type> {
    for bound in bounds {
        let TypeParamBound::Trait(bound) = bound else {
            continue;
        };
        let Some(last) = bound.path.segments.last_mut() else {
            continue;
        };
        if last.ident != "Future" {
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

/// The type as it can be written within the body, where `impl Trait` cannot.
pub(crate) fn nameable(ty: &Type) -> Type {
    erase(ty, false).0
}

/// The same without the names of lifetimes, for a value that lives within the body.
pub(crate) fn anonymous(ty: &Type) -> Type {
    erase(ty, true).0
}

pub(crate) fn has_impl(ty: &Type) -> bool {
    erase(ty, false).1
}

fn erase(ty: &Type, lifetimes: bool) -> (Type, bool) {
    let mut ty = ty.clone();
    let mut erase = Erase {
        lifetimes,
        found_impl: false,
    };
    erase.visit_type_mut(&mut ty);
    (ty, erase.found_impl)
}

struct Erase {
    lifetimes: bool,
    found_impl: bool,
}

impl VisitMut for Erase {
    fn visit_type_mut(&mut self, ty: &mut Type) {
        if let Type::ImplTrait(_) = ty {
            self.found_impl = true;
            *ty = parse_quote!(_);
            return;
        }
        visit_mut::visit_type_mut(self, ty);
    }

    fn visit_type_fn_ptr_mut(&mut self, _: &mut syn::TypeFnPtr) {
        // `for<'a> fn(&'a str)` names its own.
    }

    fn visit_trait_bound_mut(&mut self, bound: &mut syn::TraitBound) {
        if bound.lifetimes.is_none() {
            visit_mut::visit_trait_bound_mut(self, bound);
        }
    }

    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        if self.lifetimes && lifetime.ident != "static" {
            *lifetime = Lifetime::new("'_", lifetime.span());
        }
    }
}
