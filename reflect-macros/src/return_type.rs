//! The return type, for callers and for the body.

use proc_macro2::Span;
use quote::{ToTokens, quote_spanned};
use syn::{Type, parse_quote};

use crate::erase::{anonymous, has_impl, nameable};
use crate::looks::{Look, future_output, look};
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
