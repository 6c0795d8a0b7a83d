use crate::erased::BoxError;
use crate::evaluation::Evaluation;
use crate::evaluator::Evaluator;
use crate::llm::{Llm, SharedLlm};
use crate::trajectory::Trajectory;
use crate::{prompt, verdict};

/// An [`Evaluator`] that asks a model.
///
/// The verdict is the first word of the reply's first line, or else of its last line: SUCCESS or
/// PASS, FAILURE or FAIL. A JSON object `{"success": …, "score": …, "feedback": …}` is read too.
/// Words like "successful" are not a verdict. The rest of the reply is the feedback.
///
/// Doubt is never a pass: a reply without a verdict, with verdicts that contradict each other, or
/// with a passing verdict that the text beside it denies ("SUCCESS: No, the file is missing") is a
/// failure with [`Evaluation::unclear`] set and the whole reply as feedback.
///
/// ```
/// use reflexion::{BoxError, Evaluator, LlmEvaluator, Trajectory};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), BoxError> {
/// let evaluator = LlmEvaluator::new(|_: String| async { "FAILURE: it did not finish successfully" })
///     .criteria("The answer names a source.");
/// let evaluation = evaluator.evaluate(Trajectory::new(1, "Who built it?", "Brunel")).await?;
/// assert!(!evaluation.success && !evaluation.unclear);
/// assert_eq!(evaluation.feedback, "it did not finish successfully");
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
