//! The binding of the context parameter.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};

use crate::context::ContextParameter;
use crate::traced::Traced;

impl Traced {
    /// Binds the context parameter to a value of its type.
    pub(crate) fn bind_from(&self, slot: &TokenStream) -> Option<TokenStream> {
        let (context, private) = (self.context.as_ref()?, &self.private);
        let ContextParameter { pat, ty, .. } = context;
        let attrs = context.lint_attrs();
        Some(quote_spanned!(Span::mixed_site()=>
            #attrs
            let #pat: #ty = <#ty as #private::ContextParameter<'_>>::bind(#slot);
        ))
    }

    /// Binds the context parameter to an `Option` of the context, or else to the current one. The borrow
    /// has the span of its type, where the compiler reports a context that is borrowed for too long.
    pub(crate) fn slot_and_bind(&self, given: &TokenStream) -> Option<TokenStream> {
        let (at_type, there) = self.private.at(&self.context.as_ref()?.ty);
        let bind = self.bind_from(&quote_spanned!(there=> &mut __reflect_context))?;
        let slot = quote_spanned!(there=> let mut __reflect_context = #at_type::context(#given););
        Some(quote!(#slot #bind))
    }

    /// Lets the compiler check the type of a context parameter that is not used.
    pub(crate) fn check(&self) -> Option<TokenStream> {
        let bind = self.slot_and_bind(&none())?;
        Some(quote_spanned!(Span::mixed_site()=> if false { #bind }))
    }
}

/// `None`, wherever the user has shadowed it.
pub(crate) fn none() -> TokenStream {
    quote_spanned!(Span::mixed_site()=> ::core::option::Option::None)
}
