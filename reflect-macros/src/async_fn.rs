//! An `async fn`, and a function that returns a future.
//!
//! The future of an `async fn` holds its arguments and the traced future, which holds them again. So an
//! `async fn` becomes a function that returns the traced future: that is half as large, and twice as
//! many traced functions can be nested within the compiler's recursion limit.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::Attribute;

use crate::options::Options;
use crate::return_type::Returned;
use crate::task::Task;
use crate::traced::Traced;

/// Built-in attributes that mean the same on a function that is not `async`.
const INERT: [&str; 12] = [
    "allow",
    "cfg",
    "cold",
    "deny",
    "deprecated",
    "doc",
    "expect",
    "forbid",
    "inline",
    "no_mangle",
    "track_caller",
    "warn",
];

/// Whether no other macro sees the function, which may need it to be `async`.
pub(crate) fn may_unfold(attrs: &[Attribute]) -> bool {
    attrs.iter().all(|attr| {
        let path = attr.path();
        let tool = path.segments.first().map(|first| first.ident.to_string());
        INERT.iter().any(|inert| path.is_ident(inert))
            || matches!(tool.as_deref(), Some("clippy" | "rustfmt" | "diagnostic"))
    })
}

/// The return type of the unfolded function, with the span of the declared one. The tokens have the
/// edition of this crate, in which `impl Trait` captures all lifetimes, as an `async fn` does in every
/// edition.
pub(crate) fn future_of(output: &impl ToTokens, place: Span) -> TokenStream {
    quote_spanned!(Span::mixed_site().located_at(place)=>
        impl ::core::future::Future<Output = #output>
    )
}

impl Traced {
    /// The future of an `async fn`, or of a function that returns one.
    pub(crate) fn future(&self, options: &Options, returned: &Returned) -> TokenStream {
        let (private, there) = self.private.at_span(self.place);
        let Returned {
            recorded, given, ..
        } = returned;
        let mut block = self.block(options, returned);
        if options.is_on("boxed") {
            block = quote_spanned!(there=> #private::boxed(#block));
        }
        let traced = if let Some(stream) = &returned.stream {
            let kind = self.kind(stream);
            quote_spanned!(there=> traced_stream::<#kind, #recorded, _>)
        } else if returned.unwrapped {
            quote_spanned!(there=> traced::<#recorded, #given, _>)
        } else {
            quote_spanned!(there=> traced_whole::<#recorded, _>)
        };
        let until_learned = options
            .waits
            .then(|| quote_spanned!(there=> .until_learned()));
        let body = quote_spanned!(there=> move |__reflect_slot| #block);
        let Some(stream) = &returned.stream else {
            let inspect = self.inspect(options, returned);
            return quote_spanned!(there=> #private::#traced(#body, #inspect) #until_learned);
        };
        let (fold, wrap) = (self.fold(options, stream), self.wrap(stream));
        quote_spanned!(there=>
            #private::recorded(#private::#traced(#body) #until_learned, #fold, #wrap)
        )
    }

    /// The async block within that future.
    pub(crate) fn block(&self, options: &Options, returned: &Returned) -> TokenStream {
        let here = Span::mixed_site();
        let Self {
            private,
            body,
            held,
            task: Task { rebinds, .. },
            ..
        } = self;
        let lazy = returned.lazy(self.sig.asyncness.is_some() || self.unfolded);
        let (recorded, start, bind) = (&returned.recorded, self.start(options), self.bind());
        // A stream whose run is refused has the error as its only item.
        let result = match lazy {
            Some(_) => quote_spanned!(here=> ::core::result::Result<#recorded, _>),
            None => recorded.to_token_stream(),
        };
        let context = self.slot();
        let context = if bind.is_some() {
            quote_spanned!(context.span()=> mut #context)
        } else {
            quote_spanned!(here=> _)
        };
        let begin = match options.flag("strict") {
            None => quote_spanned!(here=>
                let ::core::result::Result::Ok(#context) = __reflect_slot.begin(#start).await;
            ),
            Some(strict) => {
                let mut refuse = self.refuse(strict);
                if lazy.is_some() {
                    refuse = quote_spanned!(here=> ::core::result::Result::Err(#refuse));
                }
                quote_spanned!(here=>
                    let #context = match __reflect_slot.begin_strictly(#start).await {
                        ::core::result::Result::Ok(__reflect_context) => __reflect_context,
                        ::core::result::Result::Err(__reflect_error) => return #refuse,
                    };
                )
            }
        };
        let block = self.block_of(body.clone());
        let value = match (&returned.future, lazy) {
            (None, None) => block.to_token_stream(),
            (Some(future), _) => {
                let declared = &future.declared;
                quote_spanned!(here=> #private::call(move || -> #declared #block).await)
            }
            (None, Some(_)) => quote_spanned!(here=>
                ::core::result::Result::Ok(#private::call(move || -> #recorded #block))
            ),
        };
        // Only a `return` tells the compiler the type of an async block, which `?` and other `return`s
        // in it need.
        quote_spanned!(here=>
            async move {
                if let ::core::option::Option::Some(__reflect_value) =
                    ::core::option::Option::None::<#result>
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
