//! The examples of the README and of `docs/`, compiled and run as documentation tests.
#![doc = include_str!("../README.md")]

#[doc = include_str!("../docs/formats.md")]
pub mod formats {}

#[doc = include_str!("../docs/nested-agents.md")]
pub mod nested_agents {}

#[doc = include_str!("../docs/recording.md")]
pub mod recording {}

#[doc = include_str!("../docs/report.md")]
pub mod report {}

#[doc = include_str!("../docs/reviews-from-elsewhere.md")]
pub mod reviews_from_elsewhere {}

#[doc = include_str!("../docs/testing.md")]
pub mod testing {}

#[cfg(test)]
mod links;
#[cfg(test)]
mod snippets;
