//! The attribute `#[reflect_trace]`. Use it through `reflect_sdk`, which re-exports it.

#![forbid(unsafe_code)]

mod arguments;
mod async_fn;
mod context;
mod erase;
mod expand;
#[cfg(test)]
mod expansions;
mod function;
mod options;
mod private;
mod return_type;
mod start;
mod stream_fn;
mod stream_type;
mod sync_fn;
mod task;
mod traced;
mod usage;
mod visible;

use proc_macro::TokenStream;

/// Traces a function. See the documentation of `reflect_sdk::reflect_trace`.
#[proc_macro_attribute]
pub fn reflect_trace(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::reflect_trace(&args.into(), item.into()).into()
}
