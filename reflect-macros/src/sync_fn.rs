//! A function that is not async.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::Signature;

use crate::options::Options;
use crate::return_type::Returned;
use crate::task::Task;
use crate::traced::Traced;

impl Traced {
    /// The body of a function that is not async.
    pub(crate) fn call(&self, options: &Options, returned: &Returned) -> TokenStream {
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
        let start = self.start(options);
        let start = match options.flag("strict") {
            None => quote_spanned!(here=> #private::open(#start)),
            Some(strict) => {
                let refuse = self.refuse(strict);
                quote_spanned!(here=>
                    match #private::open_strictly(#start) {
                        ::core::result::Result::Ok(__reflect_run) => __reflect_run,
                        ::core::result::Result::Err(__reflect_error) => return #refuse,
                    }
                )
            }
        };
        let (context, bind, value) = (self.slot(), self.bind(), self.block_of(body.clone()));
        let (parameter, value) = match &bind {
            Some(_) => (
                quote_spanned!(context.span()=> mut #context),
                quote!(#value),
            ),
            // The body itself, for the span of a wrong last expression.
            None => (quote_spanned!(here=> _), body.clone()),
        };
        let block = self.block_of(quote!(#(#held)* #bind #value));
        let closure = quote_spanned!(here=> move |#parameter| -> #recorded #block);
        let (at_return, there) = private.at_span(self.place);
        let run = if let Some(stream) = &returned.stream {
            let (kind, fold, wrap) = (
                self.kind(stream),
                self.fold(options, stream),
                self.wrap(stream),
            );
            quote_spanned!(there=>
                #at_return::run_stream::<#kind, #recorded, _, _>(__reflect_run, #fold, #wrap, #closure)
            )
        } else {
            let inspect = self.inspect(options, returned);
            let run = if returned.unwrapped {
                quote_spanned!(there=> #at_return::run::<#recorded, #given, _>)
            } else {
                quote_spanned!(there=> #at_return::run_whole::<#recorded, _>)
            };
            quote_spanned!(there=> #run(__reflect_run, #closure, #inspect))
        };
        let run = if aborts(&self.sig) {
            quote_spanned!(there=>
                #at_return::foreign(__reflect_run, |__reflect_run| {
                    #run
                })
            )
        } else {
            run
        };
        let run = returning(&run);
        quote_spanned!(here=> let __reflect_run = #start; #(#rebinds)* #run)
    }
}

/// Whether a panic that leaves the function ends the process.
fn aborts(sig: &Signature) -> bool {
    sig.abi.as_ref().is_some_and(|abi| {
        let name = abi.name.as_ref().map_or("C".to_owned(), syn::LitStr::value);
        !(name.to_lowercase().starts_with("rust") || name.ends_with("-unwind"))
    })
}

/// The end of the function: a `return`, for users who deny `clippy::implicit_return`.
pub(crate) fn returning(value: &TokenStream) -> TokenStream {
    quote_spanned!(Span::mixed_site()=>
        #[allow(clippy::needless_return)]
        return #value;
    )
}
