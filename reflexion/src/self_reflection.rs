use std::fmt;
use std::future::Future;
use std::sync::Arc;

use reflect_models::think;

use crate::boxed::{BoxError, BoxFuture};
use crate::failed_trial::FailedTrial;
use crate::into_result::IntoResult;
use crate::llm::{Llm, SharedLlm};
use crate::prompt;

/// Writes what a failed trial teaches.
///
/// Closures become self-reflections through [`reflection_fn`] and [`reflection_async`].
pub trait SelfReflection: Send + Sync + 'static {
    /// Returns the note for the next trial. A blank text, or a bare verdict such as "FAILURE", is
    /// replaced by the evaluator's feedback.
    fn reflect(
        &self,
        failed: FailedTrial<'_>,
    ) -> impl Future<Output = Result<String, BoxError>> + Send;
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
    async fn reflect(&self, failed: FailedTrial<'_>) -> Result<String, BoxError> {
        let reply = self.0.complete(prompt::reflection(&failed)).await?;
        Ok(think::strip(&reply).trim().to_owned())
    }
}

/// A [`SelfReflection`] without a model: the evaluator's feedback.
#[derive(Clone, Copy, Debug, Default)]
pub struct FeedbackReflection;

impl SelfReflection for FeedbackReflection {
    async fn reflect(&self, failed: FailedTrial<'_>) -> Result<String, BoxError> {
        Ok(failed.evaluation.feedback.clone())
    }
}

/// A self-reflection from a closure that returns a text or a `Result` of one.
pub fn reflection_fn<F, R>(reflect: F) -> ReflectionFn<F>
where
    F: Fn(FailedTrial<'_>) -> R + Send + Sync + 'static,
    R: IntoResult<String>,
{
    ReflectionFn(reflect)
}

/// A self-reflection from an async closure, which owns the trial.
pub fn reflection_async<F, Fut>(reflect: F) -> ReflectionAsync<F>
where
    F: Fn(FailedTrial<'static>) -> Fut + Send + Sync + 'static,
    Fut: Future + Send,
    Fut::Output: IntoResult<String>,
{
    ReflectionAsync(reflect)
}

/// The self-reflection of [`reflection_fn`].
#[derive(Clone)]
pub struct ReflectionFn<F>(F);

/// The self-reflection of [`reflection_async`].
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

/// A type-erased [`SelfReflection`] that is cheap to clone.
#[derive(Clone)]
pub struct SharedSelfReflection(Arc<dyn DynSelfReflection>);

impl SharedSelfReflection {
    /// Erases the type of a self-reflection.
    pub fn new(reflection: impl SelfReflection) -> Self {
        Self(Arc::new(reflection))
    }
}

impl SelfReflection for SharedSelfReflection {
    async fn reflect(&self, failed: FailedTrial<'_>) -> Result<String, BoxError> {
        self.0.reflect(failed).await
    }
}

impl fmt::Debug for SharedSelfReflection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedSelfReflection")
            .finish_non_exhaustive()
    }
}

trait DynSelfReflection: Send + Sync {
    fn reflect<'a>(&'a self, failed: FailedTrial<'a>) -> BoxFuture<'a, Result<String, BoxError>>;
}

impl<T: SelfReflection> DynSelfReflection for T {
    fn reflect<'a>(&'a self, failed: FailedTrial<'a>) -> BoxFuture<'a, Result<String, BoxError>> {
        Box::pin(SelfReflection::reflect(self, failed))
    }
}
