//! Adapters that ask a language model for reflections, skills, verdicts and vectors.

mod embedder;
mod judge;
mod reflection_writer;
mod skill_writer;
mod tame;

pub use embedder::ModelEmbedder;
pub use reflection_writer::LlmReflectionWriter;
pub use skill_writer::LlmSkillWriter;
