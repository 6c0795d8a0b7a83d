use crate::erased::BoxError;
use crate::evaluation::Evaluation;
use crate::evaluator::Evaluator;
use crate::llm::{Llm, SharedLlm};
use crate::trajectory::Trajectory;
use crate::{prompt, verdict};

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
        let reply = self.llm.complete(prompt).await?;
        Ok(verdict::read(&reply))
    }
}
