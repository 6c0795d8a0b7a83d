//! The path of the SDK's private module.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::{Path, parse_quote};

/// The path of `__private` in the SDK.
pub(crate) struct Private {
    path: TokenStream,
    /// The number of tokens that the user wrote. They keep their span, where the compiler reports a
    /// wrong path once.
    written: usize,
}

impl Private {
    /// `sdk` is the value of `crate = …`.
    pub(crate) fn new(sdk: Option<&Path>) -> Self {
        let default = parse_quote!(::reflect_sdk);
        let path = sdk.unwrap_or(&default);
        Self {
            path: quote_spanned!(Span::mixed_site()=> #path::__private),
            written: sdk.map_or(0, |sdk| sdk.to_token_stream().into_iter().count()),
        }
    }

    /// The path with the span of `place`, where the compiler reports an error.
    pub(crate) fn at(&self, place: &impl ToTokens) -> (TokenStream, Span) {
        let first = place.to_token_stream().into_iter().next();
        self.at_span(first.map_or_else(Span::call_site, |token| token.span()))
    }

    /// The path with this span.
    pub(crate) fn at_span(&self, place: Span) -> (TokenStream, Span) {
        let path = self.path.clone().into_iter().enumerate();
        let path = path.map(|(index, mut token)| {
            if index >= self.written {
                token.set_span(token.span().located_at(place));
            }
            token
        });
        (path.collect(), Span::mixed_site().located_at(place))
    }
}

impl ToTokens for Private {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.path.to_tokens(tokens);
    }
}
