use std::fmt;
use std::future::Future;
use std::sync::Arc;

use reflect_types::{Message, ToolCall};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::actor::Actor;
use crate::attempt::{Attempt, Attempted, texts};
use crate::erased::{BoxError, BoxFuture, IntoResult, part};

/// An [`Actor`] in which a chat model calls tools until it answers.
///
/// A trial ends at the first reply without tool calls; text beside tool calls is not an answer. An
/// unknown tool, arguments that are not JSON, and a tool's error become results for the model. A
/// trial that runs out of steps has failed; the next trial has all steps again.
///
/// ```
/// use reflexion::{BoxError, Chat, Message, Reflexion, ToolCall, ToolLoop, tool_fn};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), BoxError> {
/// // A scripted model: it looks the price up, then answers with the result.
/// let model = |chat: Chat| async move {
///     match chat.messages.last() {
///         Some(last) if last.tool_call_id.is_some() => Message::assistant(last.text()),
///         _ => Message::tool_calls([ToolCall::new("1", "price", r#"{"of": "tea"}"#)]),
///     }
/// };
/// let price = tool_fn("price", "The price of a thing", |arguments| async move {
///     format!("{} costs 3", arguments["of"].as_str().unwrap_or("it"))
/// });
/// let reflexion = Reflexion::builder(ToolLoop::new(model).tool(price).max_steps(5))
///     .evaluate_with(|trial| trial.answer().contains('3'))
///     .max_trials(1)
///     .build()?;
/// let outcome = reflexion.run("What does tea cost?").await?;
/// assert_eq!(outcome.response(), "tea costs 3");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ToolLoop {
    model: SharedChatModel,
    system: Option<String>,
    tools: Vec<(ToolSpec, Arc<dyn DynTool>)>,
    max_steps: u32,
}

impl ToolLoop {
    /// An actor on this model, without tools, with 16 steps per trial.
    pub fn new(model: impl ChatModel) -> Self {
        Self {
            model: SharedChatModel::new(model),
            system: None,
            tools: Vec::new(),
            max_steps: 16,
        }
    }

    /// Sets the system prompt.
    #[must_use]
    pub fn system(mut self, prompt: impl Into<String>) -> Self {
        self.system = Some(prompt.into());
        self
    }

    /// Adds a tool. It replaces an earlier one with the same name.
    #[must_use]
    pub fn tool(mut self, tool: impl Tool) -> Self {
        let spec = tool.spec();
        self.tools.retain(|(known, _)| known.name != spec.name);
        self.tools.push((spec, Arc::new(tool)));
        self
    }

    /// Sets the maximum number of replies per trial, at least 1.
    #[must_use]
    pub fn max_steps(mut self, steps: u32) -> Self {
        self.max_steps = steps;
        self
    }

    async fn call(&self, call: &ToolCall) -> String {
        let name = &call.function.name;
        let Some((_, tool)) = self.tools.iter().find(|(spec, _)| spec.name == *name) else {
            let known = self.tool_names().join(", ");
            return format!("Error: there is no tool `{name}`. Known: {known}");
        };
        let arguments = match arguments(call) {
            Ok(arguments) => arguments,
            Err(error) => return format!("Error: the arguments are not valid JSON: {error}"),
        };
        let result = DynTool::call(&**tool, arguments).await;
        result.unwrap_or_else(|error| format!("Error: {error}"))
    }

    fn tool_names(&self) -> Vec<&str> {
        let specs = self.tools.iter().map(|(spec, _)| spec.name.as_str());
        specs.collect()
    }
}

impl Actor for ToolLoop {
    async fn attempt(&self, attempt: Attempt) -> Result<Attempted, BoxError> {
        if self.max_steps == 0 {
            return Err(
                "max_steps is 0, so the model could never reply: set it to 1 or more".into(),
            );
        }
        let system = self.system.iter().map(Message::system);
        let mut messages: Vec<Message> = system.chain([Message::user(attempt.prompt)]).collect();
        let tools: Vec<ToolSpec> = self.tools.iter().map(|(spec, _)| spec.clone()).collect();
        for step in 0..self.max_steps {
            let chat = Chat {
                messages: messages.clone(),
                tools: tools.clone(),
                steps_left: self.max_steps - step,
            };
            let mut reply = ChatModel::reply(&self.model, chat).await?;
            name_calls(&mut reply, step);
            let calls = reply.calls().to_vec();
            if calls.is_empty() {
                let response = texts(&reply);
                messages.push(reply);
                return Ok(Attempted::default().messages(messages).response(response));
            }
            messages.push(reply);
            for call in calls {
                let result = self.call(&call).await;
                let id = call.id.unwrap_or_default();
                messages.push(Message::tool(id, result).name(call.function.name));
            }
        }
        let reason = format!(
            "The trial was stopped: no answer after {} steps.",
            self.max_steps
        );
        Ok(Attempted::halted(reason).messages(messages))
    }
}

/// Gives every call an ID for its result to refer to.
fn name_calls(reply: &mut Message, step: u32) {
    for (index, call) in reply.tool_calls.iter_mut().flatten().enumerate() {
        call.id
            .get_or_insert_with(|| format!("call_{step}_{index}"));
    }
}

/// The arguments of a call. Chat APIs send them as JSON text.
fn arguments(call: &ToolCall) -> Result<Value, serde_json::Error> {
    match &call.function.arguments {
        Some(Value::String(text)) if !text.trim().is_empty() => serde_json::from_str(text),
        Some(Value::String(_) | Value::Null) | None => Ok(Map::new().into()),
        Some(value) => Ok(value.clone()),
    }
}

impl fmt::Debug for ToolLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolLoop")
            .field("tools", &self.tool_names())
            .field("max_steps", &self.max_steps)
            .finish_non_exhaustive()
    }
}

/// A tool that the model in a [`ToolLoop`](crate::ToolLoop) can call.
///
/// An `Err` is the result of the call as the model sees it; neither the trial nor the run ends.
pub trait Tool: Send + Sync + 'static {
    /// The tool's name, description and arguments.
    fn spec(&self) -> ToolSpec;

    /// Calls the tool.
    fn call(&self, arguments: Value) -> impl Future<Output = Result<String, BoxError>> + Send;
}

/// The description of a tool in a [`Chat`](crate::Chat).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ToolSpec {
    /// The tool's name.
    pub name: String,
    /// What the tool does.
    pub description: String,
    /// The JSON schema of the arguments.
    pub parameters: Value,
}

impl ToolSpec {
    /// A tool with arguments of any shape.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            parameters: json!({"type": "object"}),
        }
    }

    /// Sets the JSON schema of the arguments.
    #[must_use]
    pub fn parameters(mut self, schema: Value) -> Self {
        self.parameters = schema;
        self
    }
}

/// A tool from an async closure that takes the arguments as JSON and returns a text or a `Result` of
/// one.
pub fn tool_fn<F, Fut>(
    name: impl Into<String>,
    description: impl Into<String>,
    call: F,
) -> ToolFn<F>
where
    F: Fn(Value) -> Fut + Send + Sync + 'static,
    Fut: Future + Send,
    Fut::Output: IntoResult<String>,
{
    ToolFn {
        spec: ToolSpec::new(name, description),
        call,
    }
}

/// The tool of [`tool_fn`].
#[derive(Clone)]
pub struct ToolFn<F> {
    spec: ToolSpec,
    call: F,
}

impl<F> ToolFn<F> {
    /// Sets the JSON schema of the arguments.
    #[must_use]
    pub fn parameters(mut self, schema: Value) -> Self {
        self.spec.parameters = schema;
        self
    }
}

impl<F, Fut> Tool for ToolFn<F>
where
    F: Fn(Value) -> Fut + Send + Sync + 'static,
    Fut: Future + Send,
    Fut::Output: IntoResult<String>,
{
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn call(&self, arguments: Value) -> Result<String, BoxError> {
        (self.call)(arguments).await.into_result()
    }
}

impl<F> fmt::Debug for ToolFn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ToolFn").field(&self.spec.name).finish()
    }
}

/// A [`Tool`] as a trait object.
pub(crate) trait DynTool: Send + Sync {
    fn call(&self, arguments: Value) -> BoxFuture<'_, Result<String, BoxError>>;
}

impl<T: Tool> DynTool for T {
    fn call(&self, arguments: Value) -> BoxFuture<'_, Result<String, BoxError>> {
        Box::pin(Tool::call(self, arguments))
    }
}

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
