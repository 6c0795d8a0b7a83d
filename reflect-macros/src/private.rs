//! The way to what the SDK has for this macro alone.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::Path;

/// The path to it, wherever the SDK is.
pub(crate) struct Private(TokenStream);

impl Private {
    pub(crate) fn new(sdk: &Path) -> Self {
        Self(quote_spanned!(Span::mixed_site()=> #sdk::__private))
    }

    /// The path as if it stood where the tokens stand, so that an error shows there.
    pub(crate) fn at(&self, place: &impl ToTokens) -> (TokenStream, Span) {
        let tokens = place.to_token_stream().into_iter();
        let place = tokens
            .map(|token| token.span())
            .next()
            .unwrap_or_else(Span::call_site);
        let path = self.0.clone().into_iter().map(|mut token| {
            token.set_span(token.span().located_at(place));
            token
        });
        (path.collect(), Span::mixed_site().located_at(place))
    }
}

impl ToTokens for Private {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.0.to_tokens(tokens);
    }
}
