use std::future::Future;

use crate::erased::{BoxError, part};

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

part! {
    /// A type-erased [`Llm`] that is cheap to clone.
    SharedLlm, DynLlm for Llm: complete(String) -> String
}
