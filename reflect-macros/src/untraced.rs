//! Functions that cannot be traced, which is an error.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};

use crate::returns::Returned;
use crate::traced::Traced;

impl Traced {
    /// A body for the signature of a traced function, so that there are no further errors.
    pub(crate) fn plain_body(&self, returned: &Returned) -> TokenStream {
        let here = Span::mixed_site();
        let Self { private, body, .. } = self;
        // The program does not compile, so nothing is ever leaked.
        let bind = self.bind_from(&quote_spanned!(here=>
            ::std::boxed::Box::leak(::std::boxed::Box::new(#private::context(::core::option::Option::None)))
        ));
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
}
