//! Types by their names.

use syn::{GenericArgument, Path, PathArguments, PathSegment, Type, TypeParamBound, parse_quote};

/// What a type is if its names have their usual meaning.
pub(crate) enum Look {
    /// A text, or a `Result` or `Option` of one: it is its own output.
    Plain,
    /// A type with this output.
    Output(Box<Type>),
    Other,
}

pub(crate) fn look(ty: &Type) -> Look {
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
pub(crate) struct FutureType<'a> {
    pub(crate) output: &'a mut Type,
    pub(crate) boxed: bool,
    /// Whether it is known by its name alone, as `BoxFuture`.
    pub(crate) by_name: bool,
}

/// The type as a future, if it is visibly one.
pub(crate) fn future_output(ty: &mut Type) -> Option<FutureType<'_>> {
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
