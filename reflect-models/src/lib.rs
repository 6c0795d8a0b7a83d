#![doc = include_str!("../README.md")]

mod echo;
pub mod json;
mod judge;
pub mod lenient;
mod prompt;
pub mod think;
pub mod tokens;
mod transcript;

#[cfg(feature = "client")]
mod builder;
#[cfg(feature = "client")]
mod chat;
#[cfg(feature = "client")]
mod client;
#[cfg(feature = "client")]
mod dialect;
#[cfg(feature = "client")]
mod embeddings;
#[cfg(feature = "client")]
mod environment;
#[cfg(feature = "client")]
mod error;
#[cfg(feature = "client")]
mod exchange;
#[cfg(feature = "client")]
mod retry;
#[cfg(feature = "client")]
mod settings;
#[cfg(feature = "client")]
mod structured;
#[cfg(feature = "client")]
mod usage;

#[cfg(feature = "client")]
pub use builder::Builder;
#[cfg(feature = "client")]
pub use client::Client;
pub use echo::echoes;
#[cfg(feature = "client")]
pub use environment::Purpose;
#[cfg(feature = "client")]
pub use error::{Error, Result};
#[cfg(feature = "client")]
pub use judge::Judge;
pub use judge::{JudgeRun, Opinion};
pub use prompt::{ChatMessage, Prompt, data};
#[cfg(feature = "client")]
pub use settings::OPENAI;
pub use transcript::transcript;
#[cfg(feature = "client")]
pub use usage::Usage;
