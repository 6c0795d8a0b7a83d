use std::fmt;
use std::future::Future;
use std::sync::Arc;

use crate::boxed::{BoxError, BoxFuture};
use crate::into_result::IntoResult;

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

impl<F, Fut> Llm for F
where
    F: Fn(String) -> Fut + Send + Sync + 'static,
    Fut: Future + Send,
    Fut::Output: IntoResult<String>,
{
    async fn complete(&self, prompt: String) -> Result<String, BoxError> {
        self(prompt).await.into_result()
    }
}

/// A type-erased [`Llm`] that is cheap to clone.
#[derive(Clone)]
pub struct SharedLlm(Arc<dyn DynLlm>);

impl SharedLlm {
    /// Erases the type of a model.
    pub fn new(llm: impl Llm) -> Self {
        Self(Arc::new(llm))
    }
}

impl Llm for SharedLlm {
    async fn complete(&self, prompt: String) -> Result<String, BoxError> {
        self.0.complete(prompt).await
    }
}

impl fmt::Debug for SharedLlm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedLlm").finish_non_exhaustive()
    }
}

trait DynLlm: Send + Sync {
    fn complete(&self, prompt: String) -> BoxFuture<'_, Result<String, BoxError>>;
}

impl<T: Llm> DynLlm for T {
    fn complete(&self, prompt: String) -> BoxFuture<'_, Result<String, BoxError>> {
        Box::pin(Llm::complete(self, prompt))
    }
}
