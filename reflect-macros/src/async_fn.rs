//! The new body of a traced function.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::Signature;

use crate::args::Args;
use crate::bind::none;
use crate::returns::Returned;
use crate::task::Task;
use crate::traced::Traced;

impl Traced {
    /// The body of a function that is not async.
    pub(crate) fn call(&self, args: &Args, returned: &Returned) -> TokenStream {
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
                quote_spanned!(here=>
                    match #private::start_strictly(#start) {
                        ::core::result::Result::Ok(__reflect_started) => __reflect_started,
                        ::core::result::Result::Err(__reflect_error) => return #refuse,
                    }
                )
            }
        };
        let closure = match &self.context {
            Some(context) if context.used => {
                let given = quote_spanned!(here=> __reflect_given);
                let (bind, value) = (self.slot_and_bind(&given), self.block_of(body.clone()));
                let block = self.block_of(quote!(#(#held)* #bind #value));
                quote_spanned!(here=> move |#given| -> #recorded #block)
            }
            _ => {
                let check = self.check();
                let block = self.block_of(quote!(#(#held)* #check #body));
                quote_spanned!(here=> move |_| -> #recorded #block)
            }
        };
        let (at_return, there) = private.at_span(self.place);
        let run = if returned.unwrapped {
            quote_spanned!(there=> #at_return::run::<#recorded, #given, _>)
        } else {
            quote_spanned!(there=> #at_return::run_whole::<#recorded, _>)
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

    /// The future of an `async fn`, or of a function that returns one.
    pub(crate) fn future(&self, args: &Args, returned: &Returned) -> TokenStream {
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

    /// The async block within that future.
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
            None => quote_spanned!(here=> #private::begin(#start).await;),
            Some(strict) => {
                let refuse = self.refuse(strict);
                quote_spanned!(here=>
                    if let ::core::result::Result::Err(__reflect_error) =
                        #private::begin_strictly(#start).await
                    {
                        return #refuse;
                    }
                )
            }
        };
        let bind = match &self.context {
            Some(context) if context.used => self.slot_and_bind(&none()),
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
        // Only a `return` tells the compiler the type of an async block, which `?` and other `return`s
        // in it need.
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
