//! The `reflect` binary as a process: how it starts, stops, dies and is talked to.

#![expect(clippy::unwrap_used, reason = "a test may")]
#![cfg(unix)]

mod commands;
mod lifecycle;
mod models;
mod server;
mod usage;
