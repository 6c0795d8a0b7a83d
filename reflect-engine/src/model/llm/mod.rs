//! Adapters that ask a language model for reflections, skills and vectors.

mod cache;
mod embedder;
mod reflection_writer;
mod skill_writer;
mod tame;

pub use embedder::ModelEmbedder;
pub use reflection_writer::LlmReflectionWriter;
pub use skill_writer::LlmSkillWriter;
