use super::boxed::BoxError;
use super::llm::{Llm, SharedLlm};
use super::{Evaluation, Evaluator, Trajectory, prompt, verdict};

/// An [`Evaluator`] that asks a model.
///
/// The reply must *begin* with its verdict: a first line (or else a last line) whose first word is
/// SUCCESS or PASS, FAILURE or FAIL, or a JSON object `{"success": …, "score": …, "feedback": …}`.
/// Words like "successful" within the text are no verdict. A reply without a verdict, or with two
/// that contradict each other, is a failure with [`Evaluation::unclear`] set.
///
/// ```
/// use reflect_sdk::reflexion::{Evaluator, LlmEvaluator, Trajectory};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), reflect_sdk::reflexion::BoxError> {
/// let judge = LlmEvaluator::new(|_: String| async { "FAILURE: it did not finish successfully" })
///     .criteria("The answer names a source.");
/// let verdict = judge.evaluate(&Trajectory::new(1, "Who built it?", "Brunel")).await?;
/// assert!(!verdict.success && !verdict.unclear);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct LlmEvaluator {
    llm: SharedLlm,
    criteria: String,
}

impl LlmEvaluator {
    /// An evaluator that asks this model.
    pub fn new(llm: impl Llm) -> Self {
        Self {
            llm: SharedLlm::new(llm),
            criteria: String::new(),
        }
    }

    /// Says what else makes a trial a success.
    #[must_use]
    pub fn criteria(mut self, criteria: impl Into<String>) -> Self {
        self.criteria = criteria.into();
        self
    }
}

impl Evaluator for LlmEvaluator {
    async fn evaluate(&self, trajectory: &Trajectory) -> Result<Evaluation, BoxError> {
        let asked = prompt::evaluator(trajectory, &self.criteria);
        let reply = self.llm.complete(asked).await?;
        Ok(verdict::read(&reply))
    }
}
