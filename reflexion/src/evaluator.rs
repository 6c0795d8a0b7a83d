use std::fmt;
use std::future::Future;

use super::boxed::{BoxError, BoxFuture};
use super::into_result::IntoResult;
use super::{Evaluation, Trajectory};

/// Says whether a trial did the task.
///
/// Closures become evaluators through [`evaluator_fn`] and [`evaluator_async`].
pub trait Evaluator: Send + Sync + 'static {
    /// The verdict on a trial. An `Err` ends the run, and keeps the answer in the error.
    fn evaluate(
        &self,
        trajectory: &Trajectory,
    ) -> impl Future<Output = Result<Evaluation, BoxError>> + Send;
}

/// An evaluator from a closure that returns a `bool`, an [`Evaluation`] or a `Result` of either.
///
/// ```
/// use reflect_sdk::reflexion::{Evaluation, evaluator_fn};
///
/// let yes_or_no = evaluator_fn(|trial| trial.answer().contains("42"));
/// let with_reason = evaluator_fn(|trial| match trial.answer().parse::<i64>() {
///     Ok(42) => Evaluation::pass(),
///     Ok(other) => Evaluation::fail(format!("{other} is not 42")).score(0.5),
///     Err(_) => Evaluation::fail("answer with a number"),
/// });
/// ```
pub fn evaluator_fn<F, R>(judge: F) -> EvaluatorFn<F>
where
    F: Fn(&Trajectory) -> R + Send + Sync + 'static,
    R: IntoResult<Evaluation>,
{
    EvaluatorFn(judge)
}

/// An evaluator from an async closure; it gets the trajectory for itself.
pub fn evaluator_async<F, Fut>(judge: F) -> EvaluatorAsync<F>
where
    F: Fn(Trajectory) -> Fut + Send + Sync + 'static,
    Fut: Future + Send,
    Fut::Output: IntoResult<Evaluation>,
{
    EvaluatorAsync(judge)
}

/// The evaluator that [`evaluator_fn`] makes.
#[derive(Clone)]
pub struct EvaluatorFn<F>(F);

/// The evaluator that [`evaluator_async`] makes.
#[derive(Clone)]
pub struct EvaluatorAsync<F>(F);

impl<F, R> Evaluator for EvaluatorFn<F>
where
    F: Fn(&Trajectory) -> R + Send + Sync + 'static,
    R: IntoResult<Evaluation>,
{
    fn evaluate(
        &self,
        trajectory: &Trajectory,
    ) -> impl Future<Output = Result<Evaluation, BoxError>> + Send {
        std::future::ready((self.0)(trajectory).into_result())
    }
}

impl<F, Fut> Evaluator for EvaluatorAsync<F>
where
    F: Fn(Trajectory) -> Fut + Send + Sync + 'static,
    Fut: Future + Send,
    Fut::Output: IntoResult<Evaluation>,
{
    async fn evaluate(&self, trajectory: &Trajectory) -> Result<Evaluation, BoxError> {
        (self.0)(trajectory.clone()).await.into_result()
    }
}

impl<F> fmt::Debug for EvaluatorFn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EvaluatorFn").finish_non_exhaustive()
    }
}

impl<F> fmt::Debug for EvaluatorAsync<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EvaluatorAsync").finish_non_exhaustive()
    }
}

pub(super) trait DynEvaluator: Send + Sync {
    fn evaluate<'a>(
        &'a self,
        trajectory: &'a Trajectory,
    ) -> BoxFuture<'a, Result<Evaluation, BoxError>>;
}

impl<T: Evaluator> DynEvaluator for T {
    fn evaluate<'a>(
        &'a self,
        trajectory: &'a Trajectory,
    ) -> BoxFuture<'a, Result<Evaluation, BoxError>> {
        Box::pin(Evaluator::evaluate(self, trajectory))
    }
}
