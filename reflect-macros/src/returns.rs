//! What a function returns: to its caller, and out of its body.

use proc_macro2::Span;
use quote::{ToTokens, quote_spanned};
use syn::{Type, parse_quote};

use crate::erase::{anonymous, has_impl, nameable};
use crate::looks::{Look, future_output, look};
use crate::private::Private;

/// What a function returns.
pub(crate) struct Returned {
    /// What stands in the signature that callers see.
    pub(crate) to_callers: Type,
    /// The same as a reader would call it, if that is something else. It believes in names, such as
    /// `Result`, that may stand for anything; so it is for the documentation alone.
    pub(crate) documented: Option<Type>,
    /// What they get in the end, which is what the future gives where it is one; the compiler fills
    /// in what cannot be named.
    pub(crate) given: Type,
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
    /// `private` is the path to the SDK's private parts; `opaque_future` says that the type is a
    /// name of the user's own for a boxed future.
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
                // Whoever says that a name is his own knows better than this what it stands for.
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
            future: None,
        }
    }
}

/// Turns the type into what is left when the run's record is taken out of it. `false` if that
/// cannot be said, and the value must be given as it is.
fn unwrap(ty: &mut Type, private: &Private) -> bool {
    if !has_impl(ty) {
        // Whatever its name is: the compiler knows what it stands for.
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

/// What is left of the type, if its names mean what they mean elsewhere.
fn documented(ty: &Type) -> Option<Type> {
    match look(ty) {
        _ if has_impl(ty) => None,
        Look::Plain => Some(ty.clone()),
        Look::Output(output) => Some(*output),
        Look::Other => None,
    }
}

/// The same for a type that is a future.
fn documented_future(ty: &Type) -> Option<Type> {
    let mut ty = ty.clone();
    let seen = future_output(&mut ty)?;
    *seen.output = documented(seen.output)?;
    Some(ty)
}

/// `<Type as TraceReturn>::Output`, which stands where the type stood: so the signature and the
/// body, if they complain about the type, complain in the same words, which are told once.
fn output_of(ty: &Type, private: &Private) -> Type {
    let (first, last) = ends(ty);
    let open = quote_spanned!(first=> <);
    let output = quote_spanned!(last=> Output);
    parse_quote!(#open #ty as #private::TraceReturn>::#output)
}

/// `<Type as Future>::Output`, which stands where the type stood.
fn output_of_future(ty: &Type) -> Type {
    let (first, last) = ends(ty);
    let open = quote_spanned!(first=> <);
    let output = quote_spanned!(last=> Output);
    parse_quote!(#open #ty as ::core::future::Future>::#output)
}

/// Where the type begins and ends.
fn ends(ty: &Type) -> (Span, Span) {
    let mut spans = ty.to_token_stream().into_iter().map(|token| token.span());
    let first = spans.next().unwrap_or_else(Span::mixed_site);
    (first, spans.last().unwrap_or(first))
}
