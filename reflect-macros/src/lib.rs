//! The attribute `#[reflect_trace]`. Use it through `reflect_sdk`, which re-exports it.

#![forbid(unsafe_code)]

mod args;
mod bind;
mod body;
mod context;
mod deferred;
mod erase;
mod expand;
#[cfg(test)]
mod expansions;
mod function;
mod hold;
mod looks;
mod mentions;
mod private;
mod returns;
mod start;
mod task;
mod traced;
mod unfold;
mod untraced;
mod whole;

use proc_macro::TokenStream;

/// Traces a function. See the documentation of `reflect_sdk::reflect_trace`.
#[proc_macro_attribute]
pub fn reflect_trace(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::reflect_trace(&args.into(), item.into()).into()
}
