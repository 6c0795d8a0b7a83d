//! The expansion of the attribute.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Error, Result, parse_quote};

use crate::async_fn::future_of;
use crate::erase::has_impl;
use crate::function::Function;
use crate::options::Options;
use crate::return_type::Returned;
use crate::sync_fn::returning;
use crate::traced::Traced;

/// Expands the attribute. A mistake adds an error and keeps the function, so that its callers see no
/// second one.
pub(crate) fn reflect_trace(args: &TokenStream, item: TokenStream) -> TokenStream {
    let mut parsed = Options::parse(args.clone());
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

impl Traced {
    fn function(&self, options: &Options) -> TokenStream {
        let Self {
            attrs, vis, sig, ..
        } = self;
        if self.braces.is_none() {
            return quote!(#(#attrs)* #vis #sig;);
        }
        let Some(returned) = &self.returned else {
            let (bind, body) = (self.bind_leaked(), &self.body);
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
            let future = self.future(options, returned);
            let output = future_of(&returned.to_callers, self.place);
            compiled.output = parse_quote!(-> #output);
            (called, read) = (returning(&future), quote!(#future.await));
        } else if let Some(stream) = returned.lazy(sig.asyncness.is_some()) {
            called = returning(&self.stream(options, returned, stream));
            read = called.clone();
        } else if sig.asyncness.is_none() && returned.future.is_none() {
            called = self.call(options, returned);
            read = called.clone();
        } else {
            let mut future = self.future(options, returned);
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
        // Documentation shows the type that the names suggest, and no body unless `impl Trait` needs one.
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

    /// A body in the braces of the source.
    fn braced(&self, body: &TokenStream) -> TokenStream {
        let mut tokens = TokenStream::new();
        let braces = self.braces.unwrap_or_default();
        braces.surround(&mut tokens, |tokens| body.to_tokens(tokens));
        tokens
    }

    /// A function that cannot be traced, which is an error, has a body for the signature of one that can:
    /// so there are no further errors.
    pub(crate) fn plain_body(&self, returned: &Returned) -> TokenStream {
        let here = Span::mixed_site();
        let Self { private, body, .. } = self;
        let bind = self.bind_leaked();
        let block = self.block_of(quote!(#bind #body));
        if let Some(future) = &returned.future {
            let declared = &future.declared;
            let mut never = quote_spanned!(here=> ::core::future::pending());
            if future.boxed {
                never = quote_spanned!(here=> #private::boxed(#never));
            }
            return quote_spanned!(here=>
                let _ = #private::call(move || -> #declared #block);
                #never
            );
        }
        let recorded = &returned.recorded;
        let value = if self.sig.asyncness.is_some() {
            quote_spanned!(here=> #private::call(async move || -> #recorded #block).await)
        } else {
            quote_spanned!(here=> #private::call(move || -> #recorded #block))
        };
        if returned.unwrapped {
            quote_spanned!(here=> #private::TraceReturn::into_output(#value))
        } else {
            value
        }
    }

    /// Binds the context of such a function.
    fn bind_leaked(&self) -> Option<TokenStream> {
        let private = &self.private;
        // The program does not compile, so nothing is ever leaked.
        self.bind_to(&quote_spanned!(Span::mixed_site()=>
            ::std::boxed::Box::leak(::std::boxed::Box::new(#private::unstarted()))
        ))
    }
}
