use std::future::Future;

use reflect_models::think;

use crate::erased::{BoxError, part};
use crate::evaluation::{Evaluation, Evaluator};
use crate::self_reflection::{FailedTrial, SelfReflection};
use crate::trajectory::Trajectory;
use crate::{prompt, verdict};

/// A language model: text in, text out.
///
/// Any closure `Fn(String) -> Future` whose output is a `String`, a `&str` or a `Result` of either
/// is a model:
///
/// ```
/// use reflexion::{BoxError, Llm, SharedLlm};
///
/// async fn ask(prompt: String) -> Result<String, std::io::Error> {
///     Ok(prompt.to_uppercase())
/// }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), BoxError> {
/// let llm = SharedLlm::new(ask);
/// assert_eq!(llm.complete("hello".to_owned()).await?, "HELLO");
/// # Ok(())
/// # }
/// ```
pub trait Llm: Send + Sync + 'static {
    /// Returns the model's reply to a prompt.
    fn complete(&self, prompt: String) -> impl Future<Output = Result<String, BoxError>> + Send;
}

part! {
    /// A type-erased [`Llm`] that is cheap to clone.
    SharedLlm, DynLlm for Llm: complete(String) -> String
}

/// An [`Evaluator`] that asks a model.
///
/// The model answers with JSON: `{"feedback": …, "score": …, "success": …}`. Without JSON, a reply that
/// begins with FAILURE or FAIL is a failure with the rest as feedback, and one that is nothing but
/// SUCCESS or PASS is a success.
///
/// Doubt is never a pass: any other reply, and one whose verdicts contradict each other, is a failure
/// with [`Evaluation::unclear`] set and the whole reply as feedback.
///
/// ```
/// use reflexion::{BoxError, Evaluator, LlmEvaluator, Trajectory};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), BoxError> {
/// let evaluator = LlmEvaluator::new(|_: String| async { r#"{"feedback": "No source.", "success": false}"# })
///     .criteria("The answer names a source.");
/// let evaluation = evaluator.evaluate(Trajectory::new(1, "Who built it?", "Brunel")).await?;
/// assert!(!evaluation.success && !evaluation.unclear);
/// assert_eq!(evaluation.feedback, "No source.");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct LlmEvaluator {
    llm: SharedLlm,
    criteria: String,
}

impl LlmEvaluator {
    /// An evaluator on this model.
    pub fn new(llm: impl Llm) -> Self {
        Self {
            llm: SharedLlm::new(llm),
            criteria: String::new(),
        }
    }

    /// Adds criteria of success to the prompt.
    #[must_use]
    pub fn criteria(mut self, criteria: impl Into<String>) -> Self {
        self.criteria = criteria.into();
        self
    }
}

impl Evaluator for LlmEvaluator {
    async fn evaluate(&self, trial: Trajectory) -> Result<Evaluation, BoxError> {
        let prompt = prompt::evaluator(&trial, &self.criteria);
        let reply = Llm::complete(&self.llm, prompt).await?;
        Ok(verdict::read(&reply))
    }
}

/// A [`SelfReflection`] by a model, from a prompt with worked examples.
#[derive(Clone, Debug)]
pub struct LlmReflection(SharedLlm);

impl LlmReflection {
    /// A self-reflection by this model.
    pub fn new(llm: impl Llm) -> Self {
        Self(SharedLlm::new(llm))
    }
}

impl SelfReflection for LlmReflection {
    async fn reflect(&self, failed: FailedTrial) -> Result<String, BoxError> {
        let reply = Llm::complete(&self.0, prompt::reflection(&failed)).await?;
        Ok(think::strip(&reply).trim().to_owned())
    }
}
