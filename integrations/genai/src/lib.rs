#![doc = include_str!("../README.md")]

use std::ops::Deref;

use genai::chat::{
    ChatMessage, ChatOptions, ChatRequest, ChatResponse, ChatRole, ContentPart, MessageContent,
};
use genai::{Client, ModelSpec};
use reflect_sdk::{
    Message, ReflectClient, Review, Role, ToolCall, TraceBuilder, TraceContext, TraceGuard,
    TraceOutput,
};

/// A run of one or several calls of a model, recorded when it is dropped.
///
/// Its context, with the ID of the run, is that of the run itself.
#[derive(Debug)]
#[must_use = "the run ends when this is dropped: keep it for as long as the run takes"]
pub struct Run {
    guard: TraceGuard,
    request: ChatRequest,
    /// The model that answered last; `None` before the first answer.
    model: Option<String>,
    /// The tokens that were read and written so far.
    tokens: (u64, u64),
    review: Option<Review>,
}

impl Run {
    /// Starts a run with a request. Its last message of the user is the task, and gets the memories.
    pub async fn start(reflect: &ReflectClient, request: ChatRequest) -> Self {
        Self::start_with(reflect, request, |run| run).await
    }

    /// Starts a run with options, as in `|run| run.limit(3).session("ticket 7")`.
    pub async fn start_with(
        reflect: &ReflectClient,
        mut request: ChatRequest,
        options: impl FnOnce(TraceBuilder) -> TraceBuilder,
    ) -> Self {
        let asked = request.messages.iter_mut().rev();
        let asked = asked
            .filter(|message| matches!(message.role, ChatRole::User))
            .find_map(|message| text_of(&mut message.content));
        let guard = match asked {
            Some(text) => {
                let guard = options(reflect.trace(text.as_str())).await;
                guard.augmented_task().clone_into(text);
                guard
            }
            // Without a question there is nothing to remember by.
            None => options(reflect.trace("(no text)").no_retrieval()).await,
        };
        if let Some(system) = &request.system {
            guard.record(Message::system(system));
        }
        request.messages.iter().flat_map(said).for_each(|said| guard.record(said));
        Self {
            guard,
            request,
            model: None,
            tokens: (0, 0),
            review: None,
        }
    }

    /// Calls the model with the messages so far, and appends its answer to them. An error fails the run, unless a later
    /// call succeeds.
    pub async fn exec_chat(
        &mut self,
        client: &Client,
        model: impl Into<ModelSpec>,
        options: Option<&ChatOptions>,
    ) -> genai::Result<ChatResponse> {
        let called = client.exec_chat(model, self.request.clone(), options).await;
        let response = self.guard.fail_on_err(called)?;
        let count = |tokens: Option<i32>| tokens.and_then(|count| u64::try_from(count).ok());
        let usage = &response.usage;
        self.tokens.0 += count(usage.prompt_tokens).unwrap_or(0);
        self.tokens.1 += count(usage.completion_tokens).unwrap_or(0);
        self.model = Some(response.provider_model_iden.model_name.to_string());
        self.append(ChatMessage::assistant(response.content.clone()));
        Ok(response)
    }

    /// Appends a message, such as the result of a tool.
    pub fn append(&mut self, message: impl Into<ChatMessage>) {
        let message = message.into();
        said(&message).into_iter().for_each(|said| self.guard.record(said));
        self.request.messages.push(message);
        self.conclude();
    }

    /// Reviews the run, where the code that runs it knows the verdict.
    pub fn review(&mut self, review: impl Into<Review>) {
        self.review = Some(review.into());
        self.conclude();
    }

    fn conclude(&self) {
        let mut output = TraceOutput::recorded();
        if let Some(model) = &self.model {
            let (input, written) = self.tokens;
            output = output.model(model).usage(input, written);
        }
        if let Some(review) = &self.review {
            output = output.review(review.clone());
        }
        self.guard.set_output(output);
    }
}

impl Deref for Run {
    type Target = TraceContext;

    fn deref(&self) -> &TraceContext {
        self.guard.context()
    }
}

/// The first text of a message.
fn text_of(content: &mut MessageContent) -> Option<&mut String> {
    content.iter_mut().find_map(|part| match part {
        ContentPart::Text(text) if !text.trim().is_empty() => Some(text),
        _ => None,
    })
}

/// What a message says.
fn said(message: &ChatMessage) -> Vec<Message> {
    let role = match message.role {
        ChatRole::System => Role::System,
        ChatRole::User => Role::User,
        ChatRole::Assistant => Role::Assistant,
        ChatRole::Tool => Role::Tool,
    };
    let said = message.content.iter().filter_map(|part| match part {
        ContentPart::Text(text) => Some(Message::new(role.clone(), text)),
        ContentPart::ToolCall(call) => {
            let arguments = call.fn_arguments.clone();
            Some(Message::tool_calls([ToolCall::new(&call.call_id, &call.fn_name, arguments)]))
        }
        ContentPart::ToolResponse(result) => Some(Message::tool(&result.call_id, &result.content)),
        _ => None,
    });
    said.collect()
}
