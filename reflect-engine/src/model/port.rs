use async_trait::async_trait;
use reflect_types::{Message, Reflection, Review, Trace, Verdict};

use super::error::Error;
use super::skill::{Guide, SourceMemory};

/// Turns texts into vectors whose dot product is their cosine similarity.
#[async_trait]
pub trait Embedder: Send + Sync + 'static {
    /// The name of the vector space, stored with every vector. Vectors of different embedders are never
    /// compared; a changed id makes the engine embed all memories again.
    fn id(&self) -> &str;

    /// The number of components of a vector.
    fn dims(&self) -> usize;

    /// The similarity below which two texts are unrelated.
    fn noise_floor(&self) -> f32;

    /// One vector per text, in order: of length 1, or all zero for a text without words.
    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, Error>;
}

/// Writes the reflection on a judged run.
#[async_trait]
pub trait ReflectionWriter: Send + Sync + 'static {
    /// The name of the writer, for logs.
    fn id(&self) -> &str;

    /// The lesson of the run.
    async fn reflect(&self, run: &JudgedRun<'_>) -> Result<Reflection, Error>;
}

/// Reviews traces.
#[async_trait]
pub trait Judge: Send + Sync + 'static {
    /// The name of the judge, which its reviews carry.
    fn id(&self) -> &str;

    /// The review of a trace; `None` if the judge cannot tell.
    async fn judge(&self, trace: &Trace) -> Result<Option<Review>, Error>;

    /// Called with the outcome of every judgement, for metrics.
    fn observe(&self, outcome: JudgeOutcome) {
        let _ = outcome;
    }
}

/// The outcome of a judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JudgeOutcome {
    /// The trace passed.
    Passed,
    /// The trace failed.
    Failed,
    /// No clear verdict; the trace waits for a person.
    Unclear,
    /// The trace was reviewed or deleted meanwhile.
    Overtaken,
    /// The judge or the store failed.
    Error,
}

impl JudgeOutcome {
    /// The outcome as a label of metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "pass",
            Self::Failed => "fail",
            Self::Unclear => "unclear",
            Self::Overtaken => "overtaken",
            Self::Error => "error",
        }
    }
}

/// Condenses memories into a guide.
#[async_trait]
pub trait SkillWriter: Send + Sync + 'static {
    /// The advice in these memories, the most useful first.
    async fn write(&self, memories: &[SourceMemory<'_>]) -> Result<Guide, Error>;
}

/// A run and its review, as a [`ReflectionWriter`] reads them.
#[derive(Clone, Copy, Debug)]
pub struct JudgedRun<'a> {
    /// The task that the agent was given.
    pub task: &'a str,
    /// The messages and tool calls.
    pub messages: &'a [Message],
    /// The answer, or `""`.
    pub final_response: &'a str,
    /// The verdict of the review.
    pub verdict: Verdict,
    /// The feedback of the review.
    pub feedback: Option<&'a str>,
    /// The policy or rules that applied.
    pub reference_context: Option<&'a str>,
}
