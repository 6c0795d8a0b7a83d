use std::borrow::Cow;
use std::fmt;
use std::future::Future;

use super::boxed::{BoxError, BoxFuture};
use super::into_result::IntoResult;
use super::llm::{Llm, SharedLlm};
use super::think::without_thoughts;
use super::{Evaluation, MemoryEntry, Trajectory, prompt};

/// Says in words what a failed trial teaches.
///
/// Closures become self-reflections through [`reflection_fn`] and [`reflection_async`].
pub trait SelfReflection: Send + Sync + 'static {
    /// What to remember for the next trial. A blank text means that there is nothing to say.
    fn reflect(
        &self,
        failed: FailedTrial<'_>,
    ) -> impl Future<Output = Result<String, BoxError>> + Send;
}

/// A trial that failed, and what was remembered before it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FailedTrial<'a> {
    /// What was done.
    pub trajectory: Cow<'a, Trajectory>,
    /// What is wrong with it.
    pub evaluation: Cow<'a, Evaluation>,
    /// What earlier trials taught, oldest first, so that the same advice is not given twice.
    pub memory: Cow<'a, [MemoryEntry]>,
}

impl<'a> FailedTrial<'a> {
    /// A failed trial, borrowed.
    pub fn new(
        trajectory: &'a Trajectory,
        evaluation: &'a Evaluation,
        memory: &'a [MemoryEntry],
    ) -> Self {
        Self {
            trajectory: Cow::Borrowed(trajectory),
            evaluation: Cow::Borrowed(evaluation),
            memory: Cow::Borrowed(memory),
        }
    }

    /// The same, owning what it holds.
    pub fn into_owned(self) -> FailedTrial<'static> {
        FailedTrial {
            trajectory: Cow::Owned(self.trajectory.into_owned()),
            evaluation: Cow::Owned(self.evaluation.into_owned()),
            memory: Cow::Owned(self.memory.into_owned()),
        }
    }
}

/// The default self-reflection: a model writes it, from a prompt with worked examples.
#[derive(Clone, Debug)]
pub struct LlmReflection(SharedLlm);

impl LlmReflection {
    /// A self-reflection written by this model.
    pub fn new(llm: impl Llm) -> Self {
        Self(SharedLlm::new(llm))
    }
}

impl SelfReflection for LlmReflection {
    async fn reflect(&self, failed: FailedTrial<'_>) -> Result<String, BoxError> {
        let reply = self.0.complete(prompt::reflection(&failed)).await?;
        Ok(without_thoughts(&reply).trim().to_owned())
    }
}

/// A self-reflection without a model: the evaluator's feedback is the lesson.
#[derive(Clone, Copy, Debug, Default)]
pub struct FeedbackReflection;

impl SelfReflection for FeedbackReflection {
    async fn reflect(&self, failed: FailedTrial<'_>) -> Result<String, BoxError> {
        Ok(failed.evaluation.feedback.clone())
    }
}

/// A self-reflection from a closure that returns a text or a `Result` of one.
pub fn reflection_fn<F, R>(write: F) -> ReflectionFn<F>
where
    F: Fn(FailedTrial<'_>) -> R + Send + Sync + 'static,
    R: IntoResult<String>,
{
    ReflectionFn(write)
}

/// A self-reflection from an async closure; it gets the trial for itself.
pub fn reflection_async<F, Fut>(write: F) -> ReflectionAsync<F>
where
    F: Fn(FailedTrial<'static>) -> Fut + Send + Sync + 'static,
    Fut: Future + Send,
    Fut::Output: IntoResult<String>,
{
    ReflectionAsync(write)
}

/// The self-reflection that [`reflection_fn`] makes.
#[derive(Clone)]
pub struct ReflectionFn<F>(F);

/// The self-reflection that [`reflection_async`] makes.
#[derive(Clone)]
pub struct ReflectionAsync<F>(F);

impl<F, R> SelfReflection for ReflectionFn<F>
where
    F: Fn(FailedTrial<'_>) -> R + Send + Sync + 'static,
    R: IntoResult<String>,
{
    fn reflect(
        &self,
        failed: FailedTrial<'_>,
    ) -> impl Future<Output = Result<String, BoxError>> + Send {
        std::future::ready((self.0)(failed).into_result())
    }
}

impl<F, Fut> SelfReflection for ReflectionAsync<F>
where
    F: Fn(FailedTrial<'static>) -> Fut + Send + Sync + 'static,
    Fut: Future + Send,
    Fut::Output: IntoResult<String>,
{
    async fn reflect(&self, failed: FailedTrial<'_>) -> Result<String, BoxError> {
        (self.0)(failed.into_owned()).await.into_result()
    }
}

impl<F> fmt::Debug for ReflectionFn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ReflectionFn").finish_non_exhaustive()
    }
}

impl<F> fmt::Debug for ReflectionAsync<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ReflectionAsync").finish_non_exhaustive()
    }
}

pub(super) trait DynSelfReflection: Send + Sync {
    fn reflect<'a>(&'a self, failed: FailedTrial<'a>) -> BoxFuture<'a, Result<String, BoxError>>;
}

impl<T: SelfReflection> DynSelfReflection for T {
    fn reflect<'a>(&'a self, failed: FailedTrial<'a>) -> BoxFuture<'a, Result<String, BoxError>> {
        Box::pin(SelfReflection::reflect(self, failed))
    }
}
