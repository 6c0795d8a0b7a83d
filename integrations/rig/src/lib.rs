#![doc = include_str!("../README.md")]

use std::sync::{Arc, Mutex, PoisonError};

use reflect_sdk::{
    Message as Said, QueryOptions, ReflectClient, ToolCall, TraceContext, TraceGuard, TraceOutput,
};
use rig_agent::agent::{AgentHook, HookContext, RunSettled, RunStart, RunStartAction, SettledOutcome};
use rig_agent::completion::Message;
use rig_core::completion::message::{AssistantContent, UserContent};

/// A hook by which the runs of an agent are given memories and are recorded.
///
/// Add it to an agent, or to a single prompt. A run without a text in its prompt is left alone.
#[derive(Clone, Debug)]
pub struct Learning {
    reflect: ReflectClient,
    query: QueryOptions,
    session: Option<String>,
    last: Arc<Mutex<Option<TraceContext>>>,
}

impl Learning {
    /// A hook that learns with this client.
    pub fn new(reflect: &ReflectClient) -> Self {
        Self {
            reflect: reflect.clone(),
            query: QueryOptions::default(),
            session: None,
            last: Arc::default(),
        }
    }

    /// Sets which memories a run is given.
    #[must_use]
    pub fn query(mut self, options: QueryOptions) -> Self {
        self.query = options;
        self
    }

    /// Sets the conversation, ticket or job that the runs belong to.
    #[must_use]
    pub fn session(mut self, id: impl Into<String>) -> Self {
        self.session = Some(id.into());
        self
    }

    /// The run that started last: its context has the ID and the handle to review it by. Where an agent has several
    /// runs at a time, give each prompt a hook of its own.
    pub fn last_run(&self) -> Option<TraceContext> {
        let last = self.last.lock();
        last.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl AgentHook for Learning {
    async fn on_run_start(&self, ctx: &HookContext, event: RunStart<'_>) -> RunStartAction {
        let Some(task) = event.prompt.rag_text() else {
            return RunStartAction::continue_run();
        };
        let mut run = self.reflect.trace(task).query(self.query.clone());
        if let Some(session) = &self.session {
            run = run.session(session);
        }
        if let Some(agent) = ctx.agent_name() {
            run = run.metadata("agent", agent);
        }
        let run = run.await;
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(run.context().clone());
        let action = if run.memories().is_empty() {
            RunStartAction::continue_run()
        } else {
            RunStartAction::rewrite(with_text(event.prompt, run.augmented_task()))
        };
        ctx.scratchpad().insert(Arc::new(run));
        action
    }

    async fn on_run_settled(&self, ctx: &HookContext, event: RunSettled<'_>) {
        // The run is recorded where its guard ends, here.
        let Some(run) = ctx.scratchpad().remove::<Arc<TraceGuard>>() else {
            return;
        };
        let messages = event.messages.unwrap_or_default();
        for said in messages.iter().flat_map(said) {
            run.record(said);
        }
        let mut output = TraceOutput::recorded();
        if let Some(model) = messages.iter().rev().find_map(model) {
            output = output.model(model);
        }
        match event.outcome {
            SettledOutcome::Response(response) => {
                let usage = response.usage();
                if let (Some(input), Some(written)) = (usage.input_tokens, usage.output_tokens) {
                    output = output.usage(input, written);
                }
                run.set_output(output.final_response(response.output()));
            }
            SettledOutcome::Error(why) => {
                run.set_output(output);
                // The verdict is the program's, as of any error.
                let _ = run.fail_on_err(Err::<(), _>(why));
            }
        }
    }
}

/// The message with this text in place of its first one.
fn with_text(message: &Message, text: &str) -> Message {
    let mut message = message.clone();
    if let Message::User { content } = &mut message {
        let first = content.iter_mut();
        for part in first.filter(|part| matches!(part, UserContent::Text(_))).take(1) {
            *part = UserContent::text(text);
        }
    }
    message
}

/// The model that said a message.
fn model(message: &Message) -> Option<&str> {
    match message {
        Message::Assistant(turn) => {
            let origin = turn.origin.as_ref()?;
            Some(origin.response_model.as_deref().unwrap_or(&origin.model))
        }
        _ => None,
    }
}

/// What a message says.
fn said(message: &Message) -> Vec<Said> {
    match message {
        Message::System { content } => vec![Said::system(content)],
        Message::User { content } => content.iter().filter_map(asked).collect(),
        Message::Assistant(turn) => turn.content.iter().filter_map(answered).collect(),
    }
}

fn asked(part: &UserContent) -> Option<Said> {
    match part {
        UserContent::Text(text) => Some(Said::user(&text.text)),
        UserContent::ToolResult(result) => {
            let texts = result.content.iter().filter_map(|part| part.as_text());
            let texts: Vec<&str> = texts.collect();
            Some(Said::tool(result.call.to_string(), texts.join("\n")))
        }
        _ => None,
    }
}

fn answered(part: &AssistantContent) -> Option<Said> {
    match part {
        AssistantContent::Text(text) => Some(Said::assistant(&text.text)),
        AssistantContent::ToolCall(call) => {
            let (name, arguments) = (call.function.name.as_str(), call.function.arguments.clone());
            Some(Said::tool_calls([ToolCall::new(call.id.to_string(), name, arguments)]))
        }
        _ => None,
    }
}
