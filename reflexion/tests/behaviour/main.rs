//! The Reflexion loop and the analysis pipeline through their public API.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "test helpers panic like tests"
)]

mod bad_options;
mod erased;
mod errors;
mod hooks_and_events;
mod hostile_replies;
mod inputs;
mod memory;
#[cfg(feature = "memory")]
mod persisting;
mod pipeline;
mod prompts;
#[cfg(feature = "memory")]
mod recalling;
mod replay;
mod running;
#[cfg(feature = "memory")]
mod server;
mod support;
mod tools;
#[cfg(feature = "memory")]
mod traced;
mod trials;
