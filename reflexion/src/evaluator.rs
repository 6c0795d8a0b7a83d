use std::fmt;
use std::future::Future;
use std::sync::Arc;

use crate::boxed::{BoxError, BoxFuture};
use crate::evaluation::Evaluation;
use crate::into_result::IntoResult;
use crate::trajectory::Trajectory;

/// Decides whether a trial did the task.
///
/// Closures become evaluators through [`evaluator_fn`] and [`evaluator_async`].
pub trait Evaluator: Send + Sync + 'static {
    /// Evaluates a trial. An `Err` ends the run; the error holds the answer.
    fn evaluate(
        &self,
        trajectory: &Trajectory,
    ) -> impl Future<Output = Result<Evaluation, BoxError>> + Send;
}

/// An evaluator from a closure that returns a `bool`, an [`Evaluation`] or a `Result` of either.
///
/// ```
/// use reflexion::{Evaluation, evaluator_fn};
///
/// let yes_or_no = evaluator_fn(|trial| trial.answer().contains("42"));
/// let with_reason = evaluator_fn(|trial| match trial.answer().parse::<i64>() {
///     Ok(42) => Evaluation::pass(),
///     Ok(other) => Evaluation::fail(format!("{other} is not 42")).score(0.5),
///     Err(_) => Evaluation::fail("answer with a number"),
/// });
/// ```
pub fn evaluator_fn<F, R>(evaluate: F) -> EvaluatorFn<F>
where
    F: Fn(&Trajectory) -> R + Send + Sync + 'static,
    R: IntoResult<Evaluation>,
{
    EvaluatorFn(evaluate)
}

/// An evaluator from an async closure, which owns the trajectory.
pub fn evaluator_async<F, Fut>(evaluate: F) -> EvaluatorAsync<F>
where
    F: Fn(Trajectory) -> Fut + Send + Sync + 'static,
    Fut: Future + Send,
    Fut::Output: IntoResult<Evaluation>,
{
    EvaluatorAsync(evaluate)
}

/// The evaluator of [`evaluator_fn`].
#[derive(Clone)]
pub struct EvaluatorFn<F>(F);

/// The evaluator of [`evaluator_async`].
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

/// A type-erased [`Evaluator`] that is cheap to clone.
#[derive(Clone)]
pub struct SharedEvaluator(Arc<dyn DynEvaluator>);

impl SharedEvaluator {
    /// Erases the type of an evaluator.
    pub fn new(evaluator: impl Evaluator) -> Self {
        Self(Arc::new(evaluator))
    }
}

impl Evaluator for SharedEvaluator {
    async fn evaluate(&self, trajectory: &Trajectory) -> Result<Evaluation, BoxError> {
        self.0.evaluate(trajectory).await
    }
}

impl fmt::Debug for SharedEvaluator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedEvaluator").finish_non_exhaustive()
    }
}

trait DynEvaluator: Send + Sync {
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
