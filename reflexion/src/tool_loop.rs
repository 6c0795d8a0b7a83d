use std::fmt;
use std::sync::Arc;

use reflect_types::{Message, ToolCall};
use serde_json::{Map, Value};

use crate::actor::Actor;
use crate::attempt::{Attempt, Attempted, texts};
use crate::chat_model::{Chat, ChatModel, SharedChatModel};
use crate::erased::BoxError;
use crate::tool::{DynTool, Tool, ToolSpec};

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
        let result = tool.call(arguments).await;
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
            let mut reply = self.model.reply(chat).await?;
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
