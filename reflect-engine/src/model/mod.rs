//! The ports behind which models stand: one turns texts into vectors, one a judged run into a
//! reflection, one memories into a guide. None needs a model: the bundled adapters work offline.
//! Those that ask one come with the feature `models`.

mod extractive;
mod hash;
mod hashed;
#[cfg(feature = "models")]
mod llm;
mod prose;
mod skill;
mod static_table;

use async_trait::async_trait;
use reflect_types::{Message, Verdict};

pub use extractive::Extractive;
pub use hashed::HashedEmbedder;
#[cfg(feature = "models")]
pub use llm::{LlmReflector, LlmSkillWriter, ModelEmbedder};
#[cfg(feature = "models")]
pub(crate) use llm::{is_setup, retry_after};
pub use reflect_types::Reflection;
pub use skill::{Guide, Lesson, write_skill};
pub use static_table::StaticEmbedder;

/// Turns texts into vectors whose dot product is their cosine similarity.
#[async_trait]
pub trait Embedder: Send + Sync + 'static {
    /// Names the vector space. It is stored with every vector: vectors of different embedders are
    /// never compared, and a changed id makes the engine embed everything anew.
    fn id(&self) -> &str;

    /// How many components a vector has.
    fn dims(&self) -> usize;

    /// The similarity below which two texts have nothing to do with each other.
    fn noise_floor(&self) -> f32;

    /// One vector per text, in order: of length 1, or all zero for a text that says nothing.
    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, Error>;
}

/// Writes down what a judged run teaches.
#[async_trait]
pub trait Reflector: Send + Sync + 'static {
    /// Names the writer, for logs and for the reader of a memory.
    fn id(&self) -> &str;

    /// What the run teaches.
    async fn reflect(&self, run: &JudgedRun<'_>) -> Result<Reflection, Error>;
}

/// Condenses what a project has learned into advice.
#[async_trait]
pub trait SkillWriter: Send + Sync + 'static {
    /// The advice that the lessons hold, the most useful first.
    async fn write(&self, lessons: &[Lesson<'_>]) -> Result<Guide, Error>;
}

/// A run and its judgement, as a [`Reflector`] reads them.
#[derive(Clone, Copy, Debug)]
pub struct JudgedRun<'a> {
    /// What the agent was asked to do.
    pub task: &'a str,
    /// All that was said and done.
    pub messages: &'a [Message],
    /// The answer, or `""`.
    pub final_response: &'a str,
    /// How it ended.
    pub verdict: Verdict,
    /// What the reviewer said of it.
    pub feedback: Option<&'a str>,
    /// The policy or rules it worked under.
    pub reference_context: Option<&'a str>,
}

/// The reflection without anything that could be taken for a tag. It is written from a run's text,
/// which may be hostile, and some clients put it into prompts as it is.
pub(crate) fn without_tags(reflection: Reflection) -> Reflection {
    let each = |texts: Vec<String>| texts.iter().map(|text| prose::without_tags(text)).collect();
    Reflection {
        summary: prose::without_tags(&reflection.summary),
        key_mistake: prose::without_tags(&reflection.key_mistake),
        correct_action: prose::without_tags(&reflection.correct_action),
        guidance: prose::without_tags(&reflection.guidance),
        applicable_tools: each(reflection.applicable_tools),
        tools_used: each(reflection.tools_used),
    }
}

/// A model that did not do its work.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// What went wrong, for a person.
    pub message: String,
    /// Whether the same call may work later.
    pub retryable: bool,
    /// What the model's client said.
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// How long a model's server asks to be left alone.
#[cfg(not(feature = "models"))]
pub(crate) fn retry_after(_: &Error) -> Option<std::time::Duration> {
    None
}

/// Whether the settings, the key or the account are at fault, and not what was asked.
#[cfg(not(feature = "models"))]
pub(crate) fn is_setup(_: &Error) -> bool {
    false
}

/// The vector at length 1; a vector without a length as zeros.
fn unit(mut vector: Vec<f32>) -> Vec<f32> {
    let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    let scale = if norm > 1e-9 { norm.recip() } else { 0.0 };
    for x in &mut vector {
        *x *= scale;
    }
    vector
}
