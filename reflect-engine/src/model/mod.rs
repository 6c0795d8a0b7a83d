//! Models of the engine: ports for embedding texts, writing reflections, writing skills and judging
//! traces, and their adapters.
//!
//! The bundled adapters work offline; those that ask a language model need the feature `models`.

mod error;
mod extractive;
mod finish;
#[cfg(any(test, feature = "test-support"))]
mod hashed;
#[cfg(feature = "models")]
mod llm;
mod personal;
mod port;
mod prose;
mod skill;
mod static_table;
mod steps;
#[cfg(test)]
mod tests;
mod vector;

pub use reflect_types::Reflection;

pub use error::Error;
pub(crate) use error::{is_setup, retry_after};
pub use extractive::Extractive;
pub(crate) use finish::finish;
#[cfg(any(test, feature = "test-support"))]
pub use hashed::HashedEmbedder;
#[cfg(feature = "models")]
pub use llm::{LlmReflectionWriter, LlmSkillWriter, ModelEmbedder};
pub(crate) use personal::PersonalValues;
pub use port::{Embedder, Judge, JudgeOutcome, JudgedRun, ReflectionWriter, SkillWriter};
pub use skill::{Guide, SourceMemory};
pub use static_table::StaticEmbedder;
