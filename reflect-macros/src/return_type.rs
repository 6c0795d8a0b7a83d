//! The return type, for callers and for the body.

use quote::quote_spanned;
use syn::{Path, Type, parse_quote};

use crate::erase::{anonymous, has_impl, nameable};
use crate::options::Options;
use crate::private::Private;
use crate::stream_type::StreamType;
use crate::visible::{FUTURE, bound_output, ends, first_type, output_of_future, with_first_type};

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
    /// The stream that the run ends with.
    pub(crate) stream: Option<StreamType>,
}

/// A function that is not `async`, but returns a future.
pub(crate) struct FutureKind {
    pub(crate) boxed: bool,
    /// The declared type.
    pub(crate) declared: Type,
}

impl Returned {
    pub(crate) fn new(
        declared: &Type,
        is_async: bool,
        options: &Options,
        private: &Private,
    ) -> Self {
        let (opaque_future, opaque_stream) = (options.is_on("future"), options.is_on("stream"));
        let keeps_result = options.keeps_result;
        let mut to_callers = declared.clone();
        if !is_async {
            if let Some(seen) = FUTURE.of(&mut to_callers) {
                // With the option `future`, a name such as `BoxFuture` is the user's own alias.
                if !(opaque_future && seen.by_name) {
                    let recorded = if seen.by_name {
                        output_of_future(&anonymous(declared))
                    } else {
                        anonymous(seen.output)
                    };
                    let (boxed, by_name) = (seen.boxed, seen.by_name);
                    if let Some(stream) = StreamType::of(seen.output, opaque_stream, private) {
                        let declared_future = anonymous(declared);
                        let future = FutureKind {
                            boxed,
                            declared: declared_future,
                        };
                        return Self::streaming(declared, recorded, Some(future), stream);
                    }
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
                        stream: None,
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
                    stream: None,
                };
            }
        }
        if let Some(stream) = StreamType::of(declared, opaque_stream, private) {
            let recorded = if is_async || stream.fallible {
                nameable(declared)
            } else {
                anonymous(declared)
            };
            return Self::streaming(declared, recorded, None, stream);
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
            stream: None,
        }
    }

    /// The stream, if the function is called when that is first polled.
    pub(crate) fn lazy(&self, is_async: bool) -> Option<&StreamType> {
        let stream = self.stream.as_ref().filter(|stream| !stream.fallible);
        stream.filter(|_| self.future.is_none() && !is_async)
    }

    /// Whether an `async fn` can become a function that returns a future. An `impl Stream` within that
    /// would not capture all lifetimes in edition 2021.
    pub(crate) fn may_unfold(&self) -> bool {
        self.stream.is_none() || !has_impl(&self.to_callers)
    }

    /// Callers get what is declared.
    fn streaming(
        declared: &Type,
        recorded: Type,
        future: Option<FutureKind>,
        stream: StreamType,
    ) -> Self {
        Self {
            to_callers: declared.clone(),
            documented: None,
            given: recorded.clone(),
            recorded,
            unwrapped: false,
            hides_output: false,
            future,
            stream: Some(stream),
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
    let seen = FUTURE.of(&mut ty)?;
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
            let output = bound_output(bounds.iter_mut(), "TraceReturn", "Output");
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
