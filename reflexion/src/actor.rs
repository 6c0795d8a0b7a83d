use std::future::Future;

use reflect_types::Message;

use crate::attempt::{Attempt, Attempted};
use crate::erased::{BoxError, part};
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

part! {
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
    SharedActor, DynActor for Actor: attempt(Attempt) -> Attempted
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
