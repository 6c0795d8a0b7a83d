//! The Reflexion loop and the reflection pipeline, seen from outside.
//!
//! Comments give the rows of the table of edge cases that the modules were built after.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests are tests"
)]

mod bad_options;
mod errors;
mod hooks_and_events;
mod hostile_replies;
mod memory;
mod persisting;
mod pipeline;
mod prompts;
mod recalling;
mod replay;
mod running;
mod server;
mod support;
mod tools;
mod traced;
mod trials;
