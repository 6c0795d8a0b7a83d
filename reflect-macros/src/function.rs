//! The function under the attribute.

use proc_macro2::TokenStream;
use syn::parse::{Parse, ParseStream};
use syn::token::Brace;
use syn::{Attribute, Result, Signature, Token, Visibility, braced};

/// A function whose body is not parsed, so that one with a syntax error keeps its signature and an
/// editor can complete code in it.
pub(crate) struct Function {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) sig: Signature,
    /// `None` without a body.
    pub(crate) braces: Option<Brace>,
    pub(crate) body: TokenStream,
}

impl Parse for Function {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut attrs = input.call(Attribute::parse_outer)?;
        let vis = input.parse()?;
        if !starts_function(input) {
            return Err(input.error(
                "`#[reflect_trace]` goes on a function with a body; \
                 within an `impl` or a `trait`, put it on the method",
            ));
        }
        let sig: Signature = input.parse()?;
        if input.parse::<Option<Token![;]>>()?.is_some() {
            return Ok(Self {
                attrs,
                vis,
                sig,
                braces: None,
                body: TokenStream::new(),
            });
        }
        let content;
        let braces = braced!(content in input);
        // Inner attributes are only allowed at the start of a function, where the body will not be.
        for mut inner in content.call(Attribute::parse_inner)? {
            inner.style = syn::AttrStyle::Outer;
            attrs.push(inner);
        }
        Ok(Self {
            attrs,
            vis,
            sig,
            braces: Some(braces),
            body: content.parse()?,
        })
    }
}

fn starts_function(input: ParseStream<'_>) -> bool {
    let qualified = input.peek(Token![const]) || input.peek(Token![unsafe]);
    // Excludes `const X`, `unsafe impl` and `extern crate`.
    let leads_to_function = input.peek2(Token![fn])
        || input.peek2(Token![async])
        || input.peek2(Token![unsafe])
        || input.peek2(Token![extern]);
    input.peek(Token![fn])
        || input.peek(Token![async])
        || (qualified && leads_to_function)
        || (input.peek(Token![extern]) && (input.peek2(syn::LitStr) || input.peek2(Token![fn])))
}
