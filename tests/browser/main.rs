//! The console in Debian's Chromium, driven through chromedriver: `cargo xtask test browser`.

#![expect(clippy::unwrap_used, reason = "a test may")]
#![cfg(unix)]

mod demo;
mod driver;
mod looks;
mod many_runs;
mod memories;
mod review;
mod sign_in;
