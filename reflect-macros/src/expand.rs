//! From the function as it was written to one that is traced.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Error, Path, Result, ReturnType, parse_quote};

use crate::args::{Args, Value};
use crate::context::ContextParameter;
use crate::function::Function;
use crate::returns::Returned;
use crate::task::Task;

/// The traced function. A mistake adds an error and takes nothing away, so that there is no second
/// one at the function's callers.
pub(crate) fn reflect_trace(args: TokenStream, item: TokenStream) -> TokenStream {
    let mut args = Args::parse(args);
    let expanded = syn::parse2(item.clone()).and_then(|function| expand(&mut args, function));
    let function = expanded.unwrap_or_else(|error| {
        args.errors.push(error);
        item
    });
    let errors = args.errors.iter().map(Error::to_compile_error);
    quote!(#(#errors)* #function)
}

fn expand(args: &mut Args, function: Function) -> Result<TokenStream> {
    let Function {
        attrs,
        vis,
        mut sig,
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
    let private = private(&args.sdk);
    let context = if args.inject_context {
        Some(ContextParameter::take(&mut sig, &body)?)
    } else {
        None
    };
    let ReturnType::Type(_, declared) = &sig.output else {
        args.errors.push(Error::new(
            sig.paren_token.span.close(),
            "a traced function returns what it came to; add `-> String` or `-> TraceResult<T>`, or \
             a `Result` of these",
        ));
        let bind = context.map(|context| slot_and_bind(&context, &private));
        return Ok(quote!(#(#attrs)* #vis #sig { #bind #body }));
    };
    let is_async = sig.asyncness.is_some();
    let returned = Returned::new(
        declared,
        is_async,
        args.is_on("future"),
        args.keeps_result,
        &private,
    );
    let to_callers = &returned.to_callers;
    sig.output = parse_quote!(-> #to_callers);
    let task = Task::new(args.task.as_ref(), &mut sig, &private).unwrap_or_else(|error| {
        args.errors.push(error);
        Task::unknown(&private)
    });
    args.check_against(is_async, returned.future.is_some());
    let traced = Traced {
        args,
        private,
        context,
        returned,
        task,
        body,
    };
    let traced = if is_async || traced.returned.future.is_some() {
        traced.future()
    } else {
        traced.call()
    };
    Ok(quote!(#(#attrs)* #vis #sig { #traced }))
}

/// The path to what the SDK has for this macro alone.
fn private(sdk: &Path) -> TokenStream {
    quote_spanned!(Span::mixed_site()=> #sdk::__private)
}

/// Everything that goes into the new body.
struct Traced<'a> {
    args: &'a Args,
    private: TokenStream,
    context: Option<ContextParameter>,
    returned: Returned,
    task: Task,
    body: TokenStream,
}

impl Traced<'_> {
    /// The body of a function that waits itself.
    fn call(&self) -> TokenStream {
        let here = Span::mixed_site();
        let Self { private, body, .. } = self;
        let recorded = &self.returned.recorded;
        let rebinds = &self.task.rebinds;
        let (start, run) = match &self.context {
            Some(context) if context.used => {
                let bind = bind(context, private);
                let run = quote_spanned!(here=>
                    #private::run_with::<#recorded, _>(start, move |mut slot| -> #recorded {
                        #bind
                        #[allow(clippy::diverging_sub_expression, clippy::let_unit_value)]
                        let value: #recorded = { #body };
                        #[allow(unreachable_code)]
                        value
                    })
                );
                (self.start(), run)
            }
            context => {
                let check = context.as_ref().map(|context| check(context, private));
                let run = quote_spanned!(here=>
                    #private::run::<#recorded, _>(start, move || -> #recorded { #check #body })
                );
                (self.start_if_seen(), run)
            }
        };
        let value = self.unwrapped(run);
        quote_spanned!(here=> let start = #start; #(#rebinds)* #value)
    }

    /// The body of a function that is a future, or returns one.
    fn future(&self) -> TokenStream {
        let here = Span::mixed_site();
        let Self { private, .. } = self;
        let recorded = &self.returned.recorded;
        let (start, rebinds) = (self.start_if_seen(), &self.task.rebinds);
        let mut body = self.async_body();
        if self.args.is_on("boxed") {
            body = quote_spanned!(here=> #private::boxed(#body));
        }
        let mut run = quote_spanned!(here=> #private::traced::<#recorded, _>(start, #body));
        if self.args.waits {
            run = quote_spanned!(here=> #run.until_learned());
        }
        let value = self.unwrapped(quote_spanned!(here=> #run.await));
        let all = quote_spanned!(here=> let start = #start; #(#rebinds)* #value);
        match &self.returned.future {
            None => all,
            Some(future) if future.boxed => {
                quote_spanned!(here=> #private::boxed(async move { #all }))
            }
            Some(_) => quote_spanned!(here=> async move { #all }),
        }
    }

    fn async_body(&self) -> TokenStream {
        let here = Span::mixed_site();
        let Self { private, body, .. } = self;
        let recorded = &self.returned.recorded;
        let bind = match &self.context {
            Some(context) if context.used => slot_and_bind(context, private),
            Some(context) => check(context, private),
            None => TokenStream::new(),
        };
        let value = match &self.returned.future {
            None => quote_spanned!(here=> { #body }),
            Some(future) => {
                let declared = &future.declared;
                quote_spanned!(here=> #private::call(move || -> #declared { #body }).await)
            }
        };
        // Nothing but a `return` tells the compiler what an async block is to give; without it, the
        // types in `return` and behind `?` would have to be spelt out.
        quote_spanned!(here=>
            async move {
                if let ::core::option::Option::Some(value) = ::core::option::Option::None::<#recorded> {
                    #[allow(unreachable_code)]
                    return value;
                }
                #bind
                #[allow(clippy::diverging_sub_expression, clippy::let_unit_value)]
                let value: #recorded = #value;
                #[allow(unreachable_code)]
                value
            }
        )
    }

    /// What the caller gets of the value.
    fn unwrapped(&self, value: TokenStream) -> TokenStream {
        let private = &self.private;
        if self.returned.unwrapped {
            quote_spanned!(Span::mixed_site()=> #private::TraceReturn::into_output(#value))
        } else {
            value
        }
    }

    /// The start of a run, or `None` where the client is disabled and nobody would see anything of
    /// the run.
    fn start_if_seen(&self) -> TokenStream {
        let here = Span::mixed_site();
        let private = &self.private;
        let some = quote_spanned!(here=> ::core::option::Option::Some);
        match &self.context {
            Some(context) if !context.used => {
                let (client, start) = (self.client(), self.start_with_client());
                quote_spanned!(here=>
                    match #private::client(#client) {
                        #some(client) => #some(#start),
                        ::core::option::Option::None => ::core::option::Option::None,
                    }
                )
            }
            _ => {
                let start = self.start();
                quote_spanned!(here=> #some(#start))
            }
        }
    }

    /// The start of a run, also of one that leaves no trace.
    fn start(&self) -> TokenStream {
        let private = &self.private;
        let (client, start) = (self.client(), self.start_with_client());
        quote_spanned!(Span::mixed_site()=>
            { let client = #private::client_or_disabled(#client); #start }
        )
    }

    fn client(&self) -> TokenStream {
        let (here, private) = (Span::mixed_site(), &self.private);
        let installed = quote_spanned!(here=> &#private::Installed);
        let given = self.args.client.as_ref();
        given.map_or(installed, |client| quote_spanned!(here=> &(#client)))
    }

    fn start_with_client(&self) -> TokenStream {
        let (here, private) = (Span::mixed_site(), &self.private);
        let builder = self.builder();
        if self.args.is_on("strict") {
            let recorded = &self.returned.recorded;
            quote_spanned!(here=> #private::Start::<#recorded>::strict(#builder))
        } else {
            quote_spanned!(here=> #private::Start::new(#builder))
        }
    }

    fn builder(&self) -> TokenStream {
        let here = Span::mixed_site();
        let Self {
            private,
            task: Task { text, .. },
            ..
        } = self;
        let mut builder = quote_spanned!(here=> client.trace(#text));
        for setting in &self.args.settings {
            let key = &setting.key;
            builder = match &setting.value {
                Value::Plain(value) => quote!(#builder.#key(#value)),
                Value::Text(value) => quote!(#builder.#key(#private::text(&(#value)))),
                Value::Map(value) => quote!(#private::#key(#builder, &(#value))),
                Value::OnCancel(variant) => quote!(#builder.#key(#private::OnCancel::#variant)),
            };
        }
        builder
    }
}

/// Gives the body its context, of the type that it asked for.
fn bind(context: &ContextParameter, private: &TokenStream) -> TokenStream {
    let ContextParameter { pat, ty, .. } = context;
    let attrs = context.lint_attrs();
    quote_spanned!(Span::mixed_site()=>
        #attrs
        let #pat: #ty = <#ty as #private::ContextParameter<'_>>::bind(&mut slot);
    )
}

fn slot_and_bind(context: &ContextParameter, private: &TokenStream) -> TokenStream {
    let bind = bind(context, private);
    quote_spanned!(Span::mixed_site()=> let mut slot = #private::context(); #bind)
}

/// Only lets the compiler check the parameter.
fn check(context: &ContextParameter, private: &TokenStream) -> TokenStream {
    let bind = slot_and_bind(context, private);
    quote_spanned!(Span::mixed_site()=> if false { #bind })
}
