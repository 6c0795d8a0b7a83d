#![doc = include_str!("../README.md")]

mod chat;
mod client;
mod config;
mod dialect;
mod embeddings;
mod error;
mod judge;
pub mod lenient;
mod prompt;
#[cfg(feature = "scripted")]
pub mod scripted;
mod structured;
pub mod tokens;
mod transcript;
mod usage;
mod wire;

pub use client::Client;
pub use config::{Builder, OPENAI, Purpose};
pub use error::{Error, Result};
pub use judge::{Judge, JudgeRun, Opinion};
pub use prompt::{Prompt, data};
pub use transcript::transcript;
pub use usage::Usage;
