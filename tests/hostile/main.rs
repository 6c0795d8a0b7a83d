//! Attacks on a running `reflect serve`: each was possible once. Loopback only, a few seconds each.

#![expect(clippy::unwrap_used, reason = "a test may")]
#![cfg(unix)]

mod bank;
mod guessing;
mod imports;
mod overload;
mod poisoning;
mod prompts;
mod rights;
#[expect(dead_code, reason = "shared with the other tests of the program")]
#[path = "../../reflect-cli/tests/process/support.rs"]
mod support;
mod terminal;
