use std::future::Future;

use crate::erased::{BoxError, shared};
use crate::evaluation::Evaluation;
use crate::into_result::IntoResult;
use crate::trajectory::Trajectory;

/// Decides whether a trial did the task.
///
/// Any closure `Fn(Trajectory) -> Future` whose output is a `bool`, an [`Evaluation`] or a `Result`
/// of either is an evaluator. For a closure that is not async, see
/// [`evaluate_with`](crate::ReflexionBuilder::evaluate_with).
pub trait Evaluator: Send + Sync + 'static {
    /// Evaluates a trial. An `Err` ends the run; the error holds the answer.
    fn evaluate(
        &self,
        trial: Trajectory,
    ) -> impl Future<Output = Result<Evaluation, BoxError>> + Send;
}

impl<F, Fut> Evaluator for F
where
    F: Fn(Trajectory) -> Fut + Send + Sync + 'static,
    Fut: Future + Send,
    Fut::Output: IntoResult<Evaluation>,
{
    async fn evaluate(&self, trial: Trajectory) -> Result<Evaluation, BoxError> {
        self(trial).await.into_result()
    }
}

shared! {
    /// A type-erased [`Evaluator`] that is cheap to clone.
    SharedEvaluator, DynEvaluator for Evaluator: evaluate(Trajectory) -> Evaluation
}
