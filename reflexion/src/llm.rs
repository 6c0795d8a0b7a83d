use std::fmt;
use std::future::Future;
use std::sync::Arc;

use super::boxed::{BoxError, BoxFuture};
use super::into_result::IntoResult;

/// A language model: text in, text out.
///
/// Any closure `Fn(String) -> Future` whose future gives a `String`, a `&str` or a `Result` of
/// either is one:
///
/// ```
/// use reflect_sdk::reflexion::{Llm, SharedLlm};
///
/// async fn ask(prompt: String) -> Result<String, std::io::Error> {
///     Ok(prompt.to_uppercase())
/// }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), reflect_sdk::reflexion::BoxError> {
/// let llm = SharedLlm::new(ask);
/// assert_eq!(llm.complete("hello".to_owned()).await?, "HELLO");
/// # Ok(())
/// # }
/// ```
pub trait Llm: Send + Sync + 'static {
    /// The model's reply to a prompt.
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

/// One [`Llm`] for several parts: cheap to clone, and itself an `Llm`.
#[derive(Clone)]
pub struct SharedLlm(Arc<dyn DynLlm>);

impl SharedLlm {
    /// Shares a model.
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
