//! The examples of the README and of `docs/`, compiled and run as documentation tests.
#![doc = include_str!("../README.md")]

#[doc = include_str!("../docs/formats.md")]
pub mod formats {}

#[doc = include_str!("../docs/rust-frameworks.md")]
pub mod rust_frameworks {}
