//! The parts of a traced function.

use proc_macro2::{Delimiter, Group, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::token::Brace;
use syn::{Attribute, Error, ReturnType, Signature, Stmt, Type, Visibility, parse_quote};

use crate::arguments::hold;
use crate::async_fn::may_unfold;
use crate::context::ContextParameter;
use crate::function::Function;
use crate::options::Options;
use crate::private::Private;
use crate::return_type::Returned;
use crate::task::Task;

/// The parts of the traced function.
pub(crate) struct Traced {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    /// The signature that callers see.
    pub(crate) sig: Signature,
    /// The signature in the source, without the context.
    pub(crate) written: Signature,
    /// The braces of the body, `None` without one. Their span marks the function as user code, so that
    /// `dead_code` applies to it.
    pub(crate) braces: Option<Brace>,
    pub(crate) body: TokenStream,
    pub(crate) private: Private,
    pub(crate) context: Option<ContextParameter>,
    /// `None` if the return type is missing, which is an error.
    pub(crate) returned: Option<Returned>,
    /// The span of the return type.
    pub(crate) place: Span,
    pub(crate) task: Task,
    /// Whether an `async fn` becomes a function that returns a future.
    pub(crate) unfolded: bool,
    /// Captures the arguments, so that they are dropped in their order.
    pub(crate) held: Vec<Stmt>,
    /// Whether the function cannot be traced, which is an error.
    pub(crate) untraced: bool,
}

impl Traced {
    pub(crate) fn new(function: Function, args: &mut Options, tokens: &TokenStream) -> Self {
        let Function {
            attrs,
            vis,
            mut sig,
            braces,
            body,
        } = function;
        let unfit = unfit(&mut sig, braces.is_some());
        let mut untraced = unfit.is_some();
        args.errors.extend(unfit);
        let private = Private::new(args.sdk.as_ref());
        let mut context = None;
        if args.inject_context {
            match ContextParameter::take(&mut sig) {
                Ok(taken) => context = Some(taken),
                // A function without a body is rejected already.
                Err(error) => args.errors.extend(braces.is_some().then_some(error)),
            }
        }
        if let Some(escape) = context.as_mut().and_then(|context| context.escape.take()) {
            args.errors.push(escape);
            untraced = true;
        }
        let (written, place) = (sig.clone(), place_of(&sig.output));
        let returned = Returned::of(&sig, braces.is_some(), args, &private);
        if let Some(returned) = returned.as_ref().filter(|_| !untraced) {
            let mistake = returned.mistake(&written, args, context.as_ref());
            untraced = mistake.is_some();
            args.errors.extend(mistake);
        }
        let is_async = sig.asyncness.is_some();
        let gives_future = returned.as_ref().is_some_and(|it| it.future.is_some());
        let is_lazy = returned
            .as_ref()
            .is_some_and(|it| it.lazy(is_async).is_some());
        let unfolded = is_async
            && returned.as_ref().is_some_and(Returned::may_unfold)
            && !untraced
            && may_unfold(&attrs);
        let mut held = Vec::new();
        if !(unfolded || untraced || gives_future || is_lazy) {
            held = hold(&mut sig, &body, false);
        }
        let guesses = args.task.is_none() && args.inject_context && context.is_none();
        let task = if untraced || guesses {
            // The arguments have an error already, so that the first one is not certain.
            Task::unknown(&private)
        } else {
            Task::new(args.task.as_ref(), &mut sig, &private).unwrap_or_else(|error| {
                args.errors.push(error);
                Task::unknown(&private)
            })
        };
        if let Some(returned) = &returned {
            args.check_against(is_async, gives_future, returned.stream.is_some());
            let to_callers = &returned.to_callers;
            sig.output = parse_quote!(-> #to_callers);
        }
        if unfolded {
            let text = task.text();
            sig.asyncness = None;
            held = hold(&mut sig, &quote!(#tokens #text #body), true);
        }
        Self {
            attrs,
            vis,
            sig,
            written,
            braces,
            body,
            private,
            context,
            returned,
            place,
            task,
            unfolded,
            held,
            untraced,
        }
    }

    /// A block with the span of the body, where the compiler reports a wrong type of its last
    /// expression. The span is marked as generated, so that `unused_braces` does not apply, and has the
    /// edition of this crate: temporaries of the last expression are dropped before the arguments.
    pub(crate) fn block_of(&self, body: TokenStream) -> Group {
        let mut block = Group::new(Delimiter::Brace, body);
        let place = self.braces.map_or(self.place, |braces| braces.span.join());
        block.set_span(Span::mixed_site().located_at(place));
        block
    }
}

/// The reason why a function like this cannot be traced. Removes a `const`, to keep the function valid.
fn unfit(sig: &mut Signature, has_body: bool) -> Option<Error> {
    if !has_body {
        let what = "there is nothing to trace without a body; put the attribute on the `impl`'s \
                    method, or give this one a default body";
        return Some(Error::new(sig.ident.span(), what));
    }
    if let Some(variadic) = &sig.variadic {
        let what = "a variadic function cannot be traced";
        return Some(Error::new_spanned(variadic, what));
    }
    let constness = sig.constness.take()?;
    let what = "a `const fn` cannot be traced: it retrieves memories at run time; remove \
                `const`, or the attribute";
    Some(Error::new_spanned(constness, what))
}

impl Returned {
    /// `None` without a return type, which is an error.
    fn of(sig: &Signature, has_body: bool, args: &mut Options, private: &Private) -> Option<Self> {
        if let ReturnType::Type(_, declared) = &sig.output {
            return Some(Self::new(declared, sig.asyncness.is_some(), args, private));
        }
        let what = "a traced function returns its output; add `-> String` or `-> TraceResult<T>`, or a \
                    `Result` of these";
        let missing = Error::new(sig.paren_token.span.close(), what);
        args.errors.extend(has_body.then_some(missing));
        None
    }

    /// The reason why a function with this return type cannot be traced.
    fn mistake(
        &self,
        sig: &Signature,
        args: &Options,
        context: Option<&ContextParameter>,
    ) -> Option<Error> {
        if self.hides_output && !args.keeps_result {
            let what = "callers get the output, which this type does not name: write \
                        `impl TraceReturn<Output = T>`, or add `returns = \"result\"` to \
                        give them the whole value; a stream is an `impl Stream<Item = T>`";
            let ReturnType::Type(_, declared) = &sig.output else {
                return None;
            };
            return Some(Error::new_spanned(declared, what));
        }
        self.stream.as_ref()?;
        let Type::Reference(lent) = &context?.ty else {
            return None;
        };
        let what = "a stream is read after the call, when this borrow has ended: take the \
                    context by value, as in `ctx: TraceContext`";
        Some(Error::new_spanned(lent, what))
    }
}

fn place_of(output: &ReturnType) -> Span {
    match output {
        ReturnType::Default => Span::mixed_site(),
        ReturnType::Type(_, ty) => {
            let first = ty.to_token_stream().into_iter().next();
            first.map_or_else(Span::mixed_site, |token| token.span())
        }
    }
}
