use std::future::Future;

use crate::erased::{BoxError, part};
use crate::evaluation::Evaluation;
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

part! {
    /// A type-erased [`Evaluator`] that is cheap to clone.
    SharedEvaluator, DynEvaluator for Evaluator: evaluate(Trajectory) -> Evaluation
}
