//! A function that returns a stream, which its run ends with.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};

use crate::options::Options;
use crate::return_type::Returned;
use crate::stream_type::StreamType;
use crate::traced::Traced;

impl Traced {
    /// The stream of a function that is not async. Its body is polled with the stream.
    pub(crate) fn stream(
        &self,
        options: &Options,
        returned: &Returned,
        stream: &StreamType,
    ) -> TokenStream {
        let (private, there) = self.private.at_span(self.place);
        let block = self.block(options, returned);
        let traced = quote_spanned!(there=>
            #private::traced_stream::<#private::Lazy, _, _>(move |__reflect_slot| #block)
        );
        let fold = self.fold(options, stream);
        let stream_of = quote_spanned!(there=>
            #private::lazy_stream(
                #private::recorded(#traced, #fold, ::core::convert::identity)
            )
        );
        if stream.boxed {
            quote_spanned!(there=> #private::boxed(#stream_of))
        } else {
            stream_of
        }
    }

    /// How the items of the stream make its text.
    pub(crate) fn fold(&self, options: &Options, stream: &StreamType) -> TokenStream {
        let item = &stream.item;
        let (private, there) = self.private.at(item);
        if let Some(fold) = &options.fold {
            quote_spanned!(there=> #private::folded::<#item>().with(#fold))
        } else {
            quote_spanned!(there=> #private::joined::<#item, _>())
        }
    }

    /// Turns the recorded stream into that of the signature.
    pub(crate) fn wrap(&self, stream: &StreamType) -> TokenStream {
        if !stream.boxed {
            return quote!(::core::convert::identity);
        }
        let (private, there) = self.private.at_span(self.place);
        let declared = &stream.declared;
        quote_spanned!(there=> |__reflect_stream| -> #declared { #private::boxed(__reflect_stream) })
    }

    /// The kind of the value that the body returns.
    pub(crate) fn kind(&self, stream: &StreamType) -> TokenStream {
        let private = &self.private;
        let kind = if stream.fallible {
            quote!(Fallible)
        } else {
            quote!(Plain)
        };
        quote_spanned!(Span::mixed_site()=> #private::#kind)
    }
}
