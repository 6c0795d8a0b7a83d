use std::future::Future;

use reflect_types::Message;

use crate::erased::{BoxError, part};
use crate::tool::ToolSpec;

/// A chat model that can call tools.
///
/// Any closure `Fn(Chat) -> Future` whose output is a [`Message`] or a `Result` of one is a chat
/// model.
pub trait ChatModel: Send + Sync + 'static {
    /// Returns the assistant's next message: tool calls, or the answer.
    fn reply(&self, chat: Chat) -> impl Future<Output = Result<Message, BoxError>> + Send;
}

/// The input of a [`ChatModel`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Chat {
    /// The messages of the trial so far.
    pub messages: Vec<Message>,
    /// The tools that can be called.
    pub tools: Vec<ToolSpec>,
    /// The replies left in this trial, including this one.
    pub steps_left: u32,
}

part! {
    /// A type-erased [`ChatModel`] that is cheap to clone.
    SharedChatModel, DynChatModel for ChatModel: reply(Chat) -> Message
}
