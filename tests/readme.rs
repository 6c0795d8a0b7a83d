//! The README's examples, compiled and run as documentation tests.
#![doc = include_str!("../README.md")]
