//! From the function as it was written to one that is traced.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::token::Brace;
use syn::{
    Attribute, Error, Ident, Result, ReturnType, Signature, Stmt, Type, Visibility, parse_quote,
};

use crate::args::{Args, Value};
use crate::context::ContextParameter;
use crate::function::Function;
use crate::private::Private;
use crate::returns::{Returned, nameable};
use crate::task::Task;
use crate::unfold::{future_of, may_unfold, unfold};

/// The traced function. A mistake adds an error and takes nothing away, so that there is no second
/// one at the function's callers.
pub(crate) fn reflect_trace(args: &TokenStream, item: TokenStream) -> TokenStream {
    let mut parsed = Args::parse(args.clone());
    let expanded = syn::parse2(item.clone())
        .and_then(|function| Traced::new(function, &mut parsed, args))
        .map(|traced| traced.function(&parsed));
    let function = expanded.unwrap_or_else(|error| {
        parsed.errors.push(error);
        item
    });
    let errors = parsed.errors.iter().map(Error::to_compile_error);
    quote!(#(#errors)* #function)
}

/// Everything that the new function is made of.
struct Traced {
    attrs: Vec<Attribute>,
    vis: Visibility,
    /// As callers see it.
    sig: Signature,
    /// Those of the function's body. By them the compiler sees that the function is the user's own,
    /// and warns if nobody calls it.
    braces: Brace,
    body: TokenStream,
    private: Private,
    context: Option<ContextParameter>,
    /// `None` where the return type is missing, which was told.
    returned: Option<Returned>,
    task: Task,
    /// Whether the function is an `async fn` that becomes one that returns a future.
    unfolded: bool,
    /// Keeps the arguments of such a one.
    held: Vec<Stmt>,
}

impl Traced {
    fn new(function: Function, args: &mut Args, tokens: &TokenStream) -> Result<Self> {
        let Function {
            attrs,
            vis,
            mut sig,
            braces,
            body,
        } = function;
        if let Some(constness) = &sig.constness {
            let what = "a `const fn` cannot be traced: asking for memories is no constant; \
                        remove `const`, or the attribute";
            return Err(Error::new_spanned(constness, what));
        }
        if let Some(variadic) = &sig.variadic {
            return Err(Error::new_spanned(
                variadic,
                "a variadic function cannot be traced",
            ));
        }
        let private = Private::new(&args.sdk);
        let context = if args.inject_context {
            Some(ContextParameter::take(&mut sig, &body)?)
        } else {
            None
        };
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
                args.errors.push(Error::new(
                    sig.paren_token.span.close(),
                    "a traced function returns what it came to; add `-> String` or \
                     `-> TraceResult<T>`, or a `Result` of these",
                ));
                None
            }
        };
        let task = Task::new(args.task.as_ref(), &mut sig, &private).unwrap_or_else(|error| {
            args.errors.push(error);
            Task::unknown(&private)
        });
        if let Some(returned) = &returned {
            args.check_against(sig.asyncness.is_some(), returned.future.is_some());
            let to_callers = &returned.to_callers;
            sig.output = parse_quote!(-> #to_callers);
        }
        let unfolded = sig.asyncness.is_some() && returned.is_some() && may_unfold(&attrs);
        let held = if unfolded {
            let text = task.text();
            unfold(&mut sig, &quote!(#tokens #text #body))
        } else {
            Vec::new()
        };
        Ok(Self {
            attrs,
            vis,
            sig,
            braces,
            body,
            private,
            context,
            returned,
            task,
            unfolded,
            held,
        })
    }

    fn function(&self, args: &Args) -> TokenStream {
        let Self {
            attrs, vis, sig, ..
        } = self;
        let Some(returned) = &self.returned else {
            let (bind, body) = (self.slot_and_bind(), &self.body);
            let body = self.braced(&quote!(#bind #body));
            return quote!(#(#attrs)* #vis #sig #body);
        };
        if sig.asyncness.is_none() && !self.unfolded && returned.future.is_none() {
            let body = self.braced(&self.call(args, returned));
            return quote!(#(#attrs)* #vis #sig #body);
        }
        let mut future = self.future(args, returned);
        if !self.unfolded {
            future = match &returned.future {
                None => quote_spanned!(Span::mixed_site()=> #future.await),
                Some(kind) if kind.boxed => {
                    let private = &self.private;
                    quote_spanned!(Span::mixed_site()=> #private::boxed(#future))
                }
                Some(_) => future,
            };
            let body = self.braced(&returning(&future));
            return quote!(#(#attrs)* #vis #sig #body);
        }
        let (mut documented, mut unfolded) = (sig.clone(), sig.clone());
        documented.asyncness = Some(parse_quote!(async));
        let output = future_of(&returned.to_callers);
        unfolded.output = parse_quote!(-> #output);
        let called = self.braced(&returning(&future));
        let read = self.braced(&quote!(#future.await));
        quote_spanned!(Span::mixed_site()=>
            #[cfg(not(doc))]
            #(#attrs)* #vis #unfolded #called

            #[cfg(doc)]
            #(#attrs)* #vis #documented #read
        )
    }

    fn braced(&self, body: &TokenStream) -> TokenStream {
        let mut tokens = TokenStream::new();
        self.braces
            .surround(&mut tokens, |tokens| body.to_tokens(tokens));
        tokens
    }

    /// The new body of a function that waits itself.
    fn call(&self, args: &Args, returned: &Returned) -> TokenStream {
        let here = Span::mixed_site();
        let Self {
            private,
            body,
            task: Task { rebinds, .. },
            ..
        } = self;
        let recorded = &returned.recorded;
        let start = self.start(args);
        let start = match args.flag("strict") {
            None => start,
            Some(strict) => {
                let refuse = self.refuse(strict);
                let strictly = self.kind("start_strictly", "start_shown_strictly");
                quote_spanned!(here=>
                    match #private::#strictly(#start) {
                        ::core::result::Result::Ok(started) => started,
                        ::core::result::Result::Err(error) => return #refuse,
                    }
                )
            }
        };
        let given = nameable(&returned.to_callers);
        let run = if returned.unwrapped {
            let run = self.kind("run", "run_shown");
            quote_spanned!(here=> #private::#run::<#recorded, #given, _>)
        } else {
            let run = self.kind("run_whole", "run_whole_shown");
            quote_spanned!(here=> #private::#run::<#recorded, _>)
        };
        let run = match &self.context {
            Some(context) if context.used => {
                let (bind, value) = (self.bind(), ending(recorded, &quote!({ #body })));
                quote_spanned!(here=>
                    #run(start, move |mut slot| -> #recorded {
                        #bind
                        #value
                    })
                )
            }
            Some(_) => {
                let check = self.check();
                quote_spanned!(here=> #run(start, move || -> #recorded { #check #body }))
            }
            None => quote_spanned!(here=> #run(start, move |_| -> #recorded { #body })),
        };
        let run = returning(&run);
        quote_spanned!(here=> let start = #start; #(#rebinds)* #run)
    }

    /// The future of a function that is one, or returns one.
    fn future(&self, args: &Args, returned: &Returned) -> TokenStream {
        let here = Span::mixed_site();
        let private = &self.private;
        let recorded = &returned.recorded;
        let mut block = self.block(args, returned);
        if args.is_on("boxed") {
            block = quote_spanned!(here=> #private::boxed(#block));
        }
        let traced = if returned.unwrapped {
            quote_spanned!(here=> traced::<#recorded, _, _>)
        } else {
            quote_spanned!(here=> traced_whole::<#recorded, _>)
        };
        let until_learned = args.waits.then(|| quote_spanned!(here=> .until_learned()));
        quote_spanned!(here=> #private::#traced(#block) #until_learned)
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
                    if let ::core::result::Result::Err(error) =
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
        let value = match &returned.future {
            None => quote!({ #body }),
            Some(future) => {
                let declared = &future.declared;
                quote_spanned!(here=> #private::call(move || -> #declared { #body }).await)
            }
        };
        let value = ending(recorded, &value);
        // Nothing but a `return` tells the compiler what an async block is to give; without it, the
        // types in `return` and behind `?` would have to be spelt out.
        quote_spanned!(here=>
            async move {
                if let ::core::option::Option::Some(value) =
                    ::core::option::Option::None::<#recorded>
                {
                    #[allow(unreachable_code)]
                    return value;
                }
                #(#held)*
                #begin
                #(#rebinds)*
                #bind
                #value
            }
        )
    }

    /// Makes `error` what is returned.
    fn refuse(&self, strict: &Ident) -> TokenStream {
        let (private, there) = self.private.at(strict);
        quote_spanned!(there=> #private::Refuse::refuse(error))
    }

    /// Whether the body, or what it calls, can see its context.
    fn is_shown(&self) -> bool {
        self.context.as_ref().is_none_or(|context| context.used)
    }

    fn kind(&self, quiet: &str, shown: &str) -> Ident {
        let name = if self.is_shown() { shown } else { quiet };
        Ident::new(name, Span::mixed_site())
    }

    /// The start of a run. Where the client is disabled, it has a context but no options, if that
    /// can be seen, here or by a run around it; else it is `None`.
    fn start(&self, args: &Args) -> TokenStream {
        let here = Span::mixed_site();
        let Self { private, task, .. } = self;
        let client = if let Some(client) = &args.client {
            let whose = self.kind("unseen_client", "client");
            let (private, there) = private.at(client);
            quote_spanned!(there=> #private::#whose(&(#client)))
        } else {
            // Where nobody named a client, the function is a part of whatever is around it.
            quote_spanned!(here=> #private::client(&#private::Installed))
        };
        let some = quote_spanned!(here=> ::core::option::Option::Some);
        let none = quote_spanned!(here=> ::core::option::Option::None);
        let text = task.text();
        if !self.is_shown() {
            let described = if args.settings.is_empty() {
                task.start()
            } else {
                let described = self.described(args, quote_spanned!(here=> run));
                quote_spanned!(here=> {
                    let run = client.trace(#text);
                    if #private::is_recorded(&run) {
                        #described
                    } else {
                        #private::Start::new(run)
                    }
                })
            };
            // Apart, so that a lock in the expression is let go before the run starts.
            return quote_spanned!(here=> {
                let client = #client;
                match client {
                    #some(client) => #some(#described),
                    #none => #none,
                }
            });
        }
        let described = self.described(args, quote_spanned!(here=> client.trace(task)));
        quote_spanned!(here=> {
            let client = #client;
            let task = #text;
            match client {
                #some(client) => #private::Shown::Run(#described),
                #none => #private::Shown::idle(task),
            }
        })
    }

    /// The start of a run, with all options.
    fn described(&self, args: &Args, mut builder: TokenStream) -> TokenStream {
        let (private, here) = (&self.private, Span::mixed_site());
        for setting in &args.settings {
            let key = &setting.key;
            builder = match &setting.value {
                Value::Plain(value) => quote!(#builder.#key(#value)),
                Value::Text(value) => quote!(#builder.#key(#private::text(&(#value)))),
                Value::Map(value) => quote!(#private::#key(#builder, &(#value))),
                Value::OnCancel(variant) => quote!(#builder.#key(#private::OnCancel::#variant)),
            };
        }
        quote_spanned!(here=> #private::Start::new(#builder))
    }

    /// Gives the body its context out of `slot`, as the type that it asked for.
    fn bind(&self) -> Option<TokenStream> {
        let (context, private) = (self.context.as_ref()?, &self.private);
        let ContextParameter { pat, ty, .. } = context;
        let attrs = context.lint_attrs();
        Some(quote_spanned!(Span::mixed_site()=>
            #attrs
            let #pat: #ty = <#ty as #private::ContextParameter<'_>>::bind(&mut slot);
        ))
    }

    fn slot_and_bind(&self) -> Option<TokenStream> {
        let (bind, private) = (self.bind()?, &self.private);
        Some(quote_spanned!(Span::mixed_site()=> let mut slot = #private::context(); #bind))
    }

    /// Only lets the compiler check the parameter.
    fn check(&self) -> Option<TokenStream> {
        let bind = self.slot_and_bind()?;
        Some(quote_spanned!(Span::mixed_site()=> if false { #bind }))
    }
}

/// The end of the function. Clippy takes it for the user's, some of whom want a `return`.
fn returning(value: &TokenStream) -> TokenStream {
    quote_spanned!(Span::mixed_site()=>
        #[allow(clippy::needless_return)]
        return #value;
    )
}

/// The end of a body. What its last expression borrows is let go before the arguments are.
fn ending(recorded: &Type, value: &TokenStream) -> TokenStream {
    quote_spanned!(Span::mixed_site()=>
        #[allow(clippy::diverging_sub_expression, clippy::let_unit_value)]
        let value: #recorded = #value;
        #[allow(unreachable_code)]
        value
    )
}
