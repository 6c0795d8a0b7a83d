//! The function under the attribute, as it was written.

use proc_macro2::TokenStream;
use syn::parse::{Parse, ParseStream};
use syn::token::Brace;
use syn::{Attribute, Result, Signature, Token, Visibility, braced};

/// A function whose body is left as it is, so that one that does not parse (yet) keeps its signature
/// and an editor can go on helping.
pub(crate) struct Function {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) sig: Signature,
    /// `None` where there is no body.
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
        // An inner attribute may only stand first in the body of a function, which the body will
        // not be any more.
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
    // `const X`, `unsafe impl` and `extern crate` are other things.
    let leads_to_function = input.peek2(Token![fn])
        || input.peek2(Token![async])
        || input.peek2(Token![unsafe])
        || input.peek2(Token![extern]);
    input.peek(Token![fn])
        || input.peek(Token![async])
        || (qualified && leads_to_function)
        || (input.peek(Token![extern]) && (input.peek2(syn::LitStr) || input.peek2(Token![fn])))
}
