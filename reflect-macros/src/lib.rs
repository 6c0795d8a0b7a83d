//! The attribute `#[reflect_trace]`. Use it through `reflect_sdk`, which re-exports it.

#![forbid(unsafe_code)]

mod args;
mod context;
mod erase;
mod expand;
#[cfg(test)]
mod expansions;
mod function;
mod looks;
mod mentions;
mod order;
mod private;
mod returns;
mod start;
mod task;
mod unfold;
mod untraced;
mod whole;

use proc_macro::TokenStream;

/// Makes a function learn from its own runs; `reflect_sdk` says how.
#[proc_macro_attribute]
pub fn reflect_trace(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::reflect_trace(&args.into(), item.into()).into()
}
