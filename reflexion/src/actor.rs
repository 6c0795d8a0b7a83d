use std::future::Future;

use reflect_types::Message;

use super::boxed::{BoxError, BoxFuture};
use super::into_result::IntoResult;
use super::llm::{Llm, SharedLlm};
use super::{Attempt, Attempted};

/// Tries to do the task: your agent.
///
/// Any closure `Fn(Attempt) -> Future` whose future gives a `String`, `&str`, [`Attempted`],
/// `Vec<Message>` or a `Result` of one of them is an actor.
pub trait Actor: Send + Sync + 'static {
    /// One trial. An `Err` ends the run; a trial that merely failed is `Ok`, see
    /// [`Attempted::halted`].
    fn attempt(&self, attempt: Attempt)
    -> impl Future<Output = Result<Attempted, BoxError>> + Send;
}

impl<F, Fut> Actor for F
where
    F: Fn(Attempt) -> Fut + Send + Sync + 'static,
    Fut: Future + Send,
    Fut::Output: IntoResult<Attempted>,
{
    async fn attempt(&self, attempt: Attempt) -> Result<Attempted, BoxError> {
        self(attempt).await.into_result()
    }
}

/// An actor that puts the prompt to a model and takes the reply as the answer.
#[derive(Clone, Debug)]
pub struct LlmActor(SharedLlm);

impl LlmActor {
    /// An actor on this model.
    pub fn new(llm: impl Llm) -> Self {
        Self(SharedLlm::new(llm))
    }
}

impl Actor for LlmActor {
    async fn attempt(&self, attempt: Attempt) -> Result<Attempted, BoxError> {
        let reply = self.0.complete(attempt.prompt.clone()).await?;
        let messages = vec![Message::user(attempt.prompt), Message::assistant(&reply)];
        Ok(Attempted::new(messages, reply))
    }
}

pub(super) trait DynActor: Send + Sync {
    fn attempt(&self, attempt: Attempt) -> BoxFuture<'_, Result<Attempted, BoxError>>;
}

impl<T: Actor> DynActor for T {
    fn attempt(&self, attempt: Attempt) -> BoxFuture<'_, Result<Attempted, BoxError>> {
        Box::pin(Actor::attempt(self, attempt))
    }
}
