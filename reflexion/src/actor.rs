use std::fmt;
use std::future::Future;
use std::sync::Arc;

use reflect_types::Message;

use crate::attempt::Attempt;
use crate::attempted::Attempted;
use crate::boxed::{BoxError, BoxFuture};
use crate::into_result::IntoResult;
use crate::llm::{Llm, SharedLlm};

/// The agent: attempts the task.
///
/// Any closure `Fn(Attempt) -> Future` whose output is a `String`, `&str`, [`Attempted`],
/// `Vec<Message>` or a `Result` of one of them is an actor. For actors of different types behind
/// one type, see [`SharedActor`].
pub trait Actor: Send + Sync + 'static {
    /// Runs one trial. An `Err` ends the run; a trial that merely failed is `Ok`, see
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

/// A type-erased [`Actor`] that is cheap to clone.
///
/// ```
/// use reflexion::{Attempt, LlmActor, SharedActor};
///
/// let agents: Vec<SharedActor> = vec![
///     SharedActor::new(|attempt: Attempt| async move { attempt.prompt }),
///     SharedActor::new(LlmActor::new(|prompt: String| async move { prompt })),
/// ];
/// assert_eq!(agents.len(), 2);
/// ```
#[derive(Clone)]
pub struct SharedActor(Arc<dyn DynActor>);

impl SharedActor {
    /// Erases the type of an actor.
    pub fn new(actor: impl Actor) -> Self {
        Self(Arc::new(actor))
    }
}

impl Actor for SharedActor {
    async fn attempt(&self, attempt: Attempt) -> Result<Attempted, BoxError> {
        self.0.attempt(attempt).await
    }
}

impl fmt::Debug for SharedActor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedActor").finish_non_exhaustive()
    }
}

/// An actor that sends the prompt to a model and answers with its reply.
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

trait DynActor: Send + Sync {
    fn attempt(&self, attempt: Attempt) -> BoxFuture<'_, Result<Attempted, BoxError>>;
}

impl<T: Actor> DynActor for T {
    fn attempt(&self, attempt: Attempt) -> BoxFuture<'_, Result<Attempted, BoxError>> {
        Box::pin(Actor::attempt(self, attempt))
    }
}
