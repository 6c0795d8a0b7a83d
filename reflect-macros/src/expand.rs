//! From the function as it was written to one that is traced.

use proc_macro2::{Delimiter, Group, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::token::Brace;
use syn::{Attribute, Error, Result, ReturnType, Signature, Stmt, Visibility, parse_quote};

use crate::args::Args;
use crate::context::ContextParameter;
use crate::erase::has_impl;
use crate::function::Function;
use crate::order::last_first;
use crate::private::Private;
use crate::returns::Returned;
use crate::task::Task;
use crate::unfold::{future_of, may_unfold, unfold};

/// The traced function. A mistake adds an error and takes nothing away, so that there is no second
/// one at the function's callers.
pub(crate) fn reflect_trace(args: &TokenStream, item: TokenStream) -> TokenStream {
    let mut parsed = Args::parse(args.clone());
    let expanded: Result<Function> = syn::parse2(item.clone());
    let function = match expanded {
        Ok(function) => Traced::new(function, &mut parsed, args).function(&parsed),
        Err(error) => {
            parsed.errors.push(error);
            item
        }
    };
    let errors = parsed.errors.iter().map(Error::to_compile_error);
    quote!(#(#errors)* #function)
}

/// Everything that the new function is made of.
pub(crate) struct Traced {
    attrs: Vec<Attribute>,
    vis: Visibility,
    /// As callers see it.
    pub(crate) sig: Signature,
    /// The same as it was written, but for the context.
    written: Signature,
    /// Those of the function's body. By them the compiler sees that the function is the user's own,
    /// and warns if nobody calls it.
    braces: Option<Brace>,
    pub(crate) body: TokenStream,
    pub(crate) private: Private,
    pub(crate) context: Option<ContextParameter>,
    /// `None` where the return type is missing, which was told.
    returned: Option<Returned>,
    /// Where the return type stands.
    place: Span,
    pub(crate) task: Task,
    /// Whether the function is an `async fn` that becomes one that returns a future.
    unfolded: bool,
    /// Keeps the arguments, in their order.
    held: Vec<Stmt>,
    /// Whether it cannot be traced, which was told.
    untraced: bool,
}

impl Traced {
    fn new(function: Function, args: &mut Args, tokens: &TokenStream) -> Self {
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
            match ContextParameter::take(&mut sig, &body) {
                Ok(taken) => context = Some(taken),
                // Without a body there is no parameter either that would be missed.
                Err(error) => args.errors.extend(braces.is_some().then_some(error)),
            }
        }
        if let Some(escape) = context.as_mut().and_then(|context| context.escape.take()) {
            args.errors.push(escape);
            untraced = true;
        }
        let (written, place) = (sig.clone(), place_of(&sig.output));
        let returned = match &sig.output {
            ReturnType::Type(_, declared) => {
                let (is_async, future) = (sig.asyncness.is_some(), args.is_on("future"));
                Some(Returned::new(
                    declared,
                    is_async,
                    future,
                    args.keeps_result,
                    &private,
                ))
            }
            ReturnType::Default => {
                args.errors.extend(braces.map(|_| {
                    Error::new(
                        sig.paren_token.span.close(),
                        "a traced function returns what it came to; add `-> String` or \
                         `-> TraceResult<T>`, or a `Result` of these",
                    )
                }));
                None
            }
        };
        let is_async = sig.asyncness.is_some();
        let gives_future = returned.as_ref().is_some_and(|it| it.future.is_some());
        let unfolded = is_async && returned.is_some() && !untraced && may_unfold(&attrs);
        let mut held = Vec::new();
        if !(unfolded || untraced || gives_future) {
            held = last_first(&mut sig, &body);
        }
        let guesses = args.task.is_none() && args.inject_context && context.is_none();
        let task = if untraced || guesses {
            // Which argument it is depends on what is wrong with them, which was told.
            Task::unknown(&private)
        } else {
            Task::new(args.task.as_ref(), &mut sig, &private).unwrap_or_else(|error| {
                args.errors.push(error);
                Task::unknown(&private)
            })
        };
        if let Some(returned) = &returned {
            args.check_against(is_async, gives_future);
            let to_callers = &returned.to_callers;
            sig.output = parse_quote!(-> #to_callers);
        }
        if unfolded {
            let text = task.text();
            held = unfold(&mut sig, &quote!(#tokens #text #body));
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

    fn function(&self, args: &Args) -> TokenStream {
        let Self {
            attrs, vis, sig, ..
        } = self;
        if self.braces.is_none() {
            return quote!(#(#attrs)* #vis #sig;);
        }
        let Some(returned) = &self.returned else {
            let (bind, body) = (self.slot_and_bind(), &self.body);
            let body = self.braced(&quote!(#bind #body));
            return quote!(#(#attrs)* #vis #sig #body);
        };
        if self.untraced {
            let body = self.braced(&self.plain_body(returned));
            return quote!(#(#attrs)* #vis #sig #body);
        }
        let mut compiled = sig.clone();
        let (called, read);
        if self.unfolded {
            let future = self.future(args, returned);
            let output = future_of(&returned.to_callers, self.place);
            compiled.output = parse_quote!(-> #output);
            (called, read) = (returning(&future), quote!(#future.await));
        } else if sig.asyncness.is_none() && returned.future.is_none() {
            called = self.call(args, returned);
            read = called.clone();
        } else {
            let mut future = self.future(args, returned);
            let there = Span::mixed_site().located_at(self.place);
            match &returned.future {
                None => future = quote_spanned!(there=> #future.await),
                Some(kind) if kind.boxed => {
                    let (private, _) = self.private.at_span(self.place);
                    future = quote_spanned!(there=> #private::boxed(#future));
                }
                Some(_) => {}
            }
            called = returning(&future);
            read = called.clone();
        }
        let called = self.braced(&called);
        if returned.documented.is_none() && !self.unfolded {
            return quote!(#(#attrs)* #vis #compiled #called);
        }
        // Readers are shown what the names suggest, and never a body; only an `impl Trait` needs one.
        let shown = returned.documented.as_ref();
        let shown = shown.unwrap_or(&returned.to_callers);
        let (mut documented, read) = if has_impl(shown) {
            (sig.clone(), read)
        } else {
            (self.written.clone(), quote!(loop {}))
        };
        documented.asyncness = self.written.asyncness;
        documented.output = parse_quote!(-> #shown);
        let read = self.braced(&read);
        quote_spanned!(Span::mixed_site()=>
            #[cfg(not(doc))]
            #(#attrs)* #vis #compiled #called

            #[cfg(doc)]
            #(#attrs)* #vis #documented #read
        )
    }

    /// The whole of a body, in the braces of the user's own.
    fn braced(&self, body: &TokenStream) -> TokenStream {
        let mut tokens = TokenStream::new();
        let braces = self.braces.unwrap_or_default();
        braces.surround(&mut tokens, |tokens| body.to_tokens(tokens));
        tokens
    }

    /// The body as a block within. If it does not end as it should, the compiler shows where it is;
    /// it knows all the same that the braces are not the user's, and does not call them needless.
    /// They are of the edition of this crate: what the last expression borrows is let go before the
    /// arguments are.
    pub(crate) fn block_of(&self, body: TokenStream) -> Group {
        let mut block = Group::new(Delimiter::Brace, body);
        let place = self.braces.map_or(self.place, |braces| braces.span.join());
        block.set_span(Span::mixed_site().located_at(place));
        block
    }

    /// The new body of a function that waits itself.
    fn call(&self, args: &Args, returned: &Returned) -> TokenStream {
        let here = Span::mixed_site();
        let Self {
            private,
            body,
            held,
            task: Task { rebinds, .. },
            ..
        } = self;
        let Returned {
            recorded, given, ..
        } = returned;
        let start = self.start(args);
        let start = match args.flag("strict") {
            None => start,
            Some(strict) => {
                let refuse = self.refuse(strict);
                let strictly = self.kind("start_strictly", "start_shown_strictly");
                quote_spanned!(here=>
                    match #private::#strictly(#start) {
                        ::core::result::Result::Ok(__reflect_started) => __reflect_started,
                        ::core::result::Result::Err(__reflect_error) => return #refuse,
                    }
                )
            }
        };
        let (at_return, there) = private.at_span(self.place);
        let mut kind = if returned.unwrapped {
            self.kind("run", "run_shown")
        } else {
            self.kind("run_whole", "run_whole_shown")
        };
        kind.set_span(there);
        let run = if returned.unwrapped {
            quote_spanned!(there=> #at_return::#kind::<#recorded, #given, _>)
        } else {
            quote_spanned!(there=> #at_return::#kind::<#recorded, _>)
        };
        let closure = match &self.context {
            Some(context) if context.used => {
                let (bind, value) = (self.bind(), self.block_of(body.clone()));
                let block = self.block_of(quote!(#(#held)* #bind #value));
                quote_spanned!(here=> move |mut __reflect_slot| -> #recorded #block)
            }
            Some(_) => {
                let check = self.check();
                let block = self.block_of(quote!(#(#held)* #check #body));
                quote_spanned!(here=> move || -> #recorded #block)
            }
            None => {
                let block = self.block_of(quote!(#(#held)* #body));
                quote_spanned!(here=> move |_| -> #recorded #block)
            }
        };
        let run = if aborts(&self.sig) {
            quote_spanned!(there=>
                #at_return::foreign(__reflect_start, |__reflect_start| {
                    #run(__reflect_start, #closure)
                })
            )
        } else {
            quote_spanned!(there=> #run(__reflect_start, #closure))
        };
        let run = returning(&run);
        quote_spanned!(here=> let __reflect_start = #start; #(#rebinds)* #run)
    }

    /// The future of a function that is one, or returns one.
    fn future(&self, args: &Args, returned: &Returned) -> TokenStream {
        let (private, there) = self.private.at_span(self.place);
        let Returned {
            recorded, given, ..
        } = returned;
        let mut block = self.block(args, returned);
        if args.is_on("boxed") {
            block = quote_spanned!(there=> #private::boxed(#block));
        }
        let traced = if returned.unwrapped {
            quote_spanned!(there=> traced::<#recorded, #given, _>)
        } else {
            quote_spanned!(there=> traced_whole::<#recorded, _>)
        };
        let until_learned = args.waits.then(|| quote_spanned!(there=> .until_learned()));
        quote_spanned!(there=> #private::#traced(#block) #until_learned)
    }

    fn block(&self, args: &Args, returned: &Returned) -> TokenStream {
        let here = Span::mixed_site();
        let Self {
            private,
            body,
            held,
            task: Task { rebinds, .. },
            ..
        } = self;
        let recorded = &returned.recorded;
        let start = self.start(args);
        let begin = match args.flag("strict") {
            None => {
                let begin = self.kind("begin", "begin_shown");
                quote_spanned!(here=> #private::#begin(#start).await;)
            }
            Some(strict) => {
                let refuse = self.refuse(strict);
                let begin = self.kind("begin_strictly", "begin_shown_strictly");
                quote_spanned!(here=>
                    if let ::core::result::Result::Err(__reflect_error) =
                        #private::#begin(#start).await
                    {
                        return #refuse;
                    }
                )
            }
        };
        let bind = match &self.context {
            Some(context) if context.used => self.slot_and_bind(),
            _ => self.check(),
        };
        let block = self.block_of(body.clone());
        let value = match &returned.future {
            None => quote!(#block),
            Some(future) => {
                let declared = &future.declared;
                quote_spanned!(here=> #private::call(move || -> #declared #block).await)
            }
        };
        // Nothing but a `return` tells the compiler what an async block is to give; without it, the
        // types in `return` and behind `?` would have to be spelt out.
        quote_spanned!(here=>
            async move {
                if let ::core::option::Option::Some(__reflect_value) =
                    ::core::option::Option::None::<#recorded>
                {
                    return __reflect_value;
                }
                #(#held)*
                #begin
                #(#rebinds)*
                #bind
                #value
            }
        )
    }

    /// Gives the body its context out of its slot, as the type that it asked for.
    fn bind(&self) -> Option<TokenStream> {
        let slot = quote_spanned!(Span::mixed_site()=> &mut __reflect_slot);
        self.bind_from(&slot)
    }

    pub(crate) fn bind_from(&self, slot: &TokenStream) -> Option<TokenStream> {
        let (context, private) = (self.context.as_ref()?, &self.private);
        let ContextParameter { pat, ty, .. } = context;
        let attrs = context.lint_attrs();
        Some(quote_spanned!(Span::mixed_site()=>
            #attrs
            let #pat: #ty = <#ty as #private::ContextParameter<'_>>::bind(#slot);
        ))
    }

    fn slot_and_bind(&self) -> Option<TokenStream> {
        let (bind, private) = (self.bind()?, &self.private);
        Some(quote_spanned!(Span::mixed_site()=>
            let mut __reflect_slot = #private::context();
            #bind
        ))
    }

    /// Only lets the compiler check the parameter.
    fn check(&self) -> Option<TokenStream> {
        let bind = self.slot_and_bind()?;
        Some(quote_spanned!(Span::mixed_site()=> if false { #bind }))
    }
}

/// Why no function like this can be traced. What is in the way is taken away.
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
    let what = "a `const fn` cannot be traced: asking for memories is no constant; \
                remove `const`, or the attribute";
    Some(Error::new_spanned(constness, what))
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

/// Whether a panic that leaves the function ends the process.
fn aborts(sig: &Signature) -> bool {
    sig.abi.as_ref().is_some_and(|abi| {
        let name = abi.name.as_ref().map_or("C".to_owned(), syn::LitStr::value);
        !(name.to_lowercase().starts_with("rust") || name.ends_with("-unwind"))
    })
}

/// The end of the function. Clippy takes it for the user's, some of whom want a `return`.
fn returning(value: &TokenStream) -> TokenStream {
    quote_spanned!(Span::mixed_site()=>
        #[allow(clippy::needless_return)]
        return #value;
    )
}
