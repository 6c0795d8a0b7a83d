//! An agent of `rig` that learns by a hook: the code that asks the agent knows nothing of Reflect.
//!
//!     (cd examples/frameworks && cargo run --example rig_hook)

use std::sync::Arc;
use std::time::Duration;

use reflect_framework_examples::{MODEL, Provider, review};
use reflect_sdk::{BoxError, Message as Said, ReflectClient, ToolCall, TraceGuard, TraceOutput};
use rig_agent::agent::{RunSettled, RunStart, RunStartAction, SettledOutcome};
use rig_agent::prelude::*;
use rig_core::completion::message::{AssistantContent, UserContent};
use rig_core::providers::openai::OpenAIConfig;

/// Gives each run of an agent its memories, and records it.
struct Learning(ReflectClient);

impl AgentHook for Learning {
    async fn on_run_start(&self, ctx: &HookContext, event: RunStart<'_>) -> RunStartAction {
        let Some(task) = event.prompt.rag_text() else {
            return RunStartAction::continue_run();
        };
        let run = Arc::new(self.0.trace(task).limit(3).await);
        let prompt = run.augmented_task().to_owned();
        // A run that is dropped before it settles is recorded with this.
        run.record(Said::user(&prompt));
        ctx.scratchpad().insert(run);
        RunStartAction::rewrite(prompt)
    }

    async fn on_run_settled(&self, ctx: &HookContext, event: RunSettled<'_>) {
        let Some(run) = ctx.scratchpad().remove::<Arc<TraceGuard>>() else {
            return;
        };
        let messages = event.messages.unwrap_or_default();
        let messages: Vec<Said> = messages.iter().flat_map(said).collect();
        let output = TraceOutput::new(messages).model(MODEL);
        // The run is recorded where its guard ends, here.
        run.set_output(match event.outcome {
            SettledOutcome::Response(_) => output,
            SettledOutcome::Error(why) => output.error(why),
        });
    }
}

/// What a message of `rig` says.
fn said(message: &Message) -> Vec<Said> {
    match message {
        Message::System { content } => vec![Said::system(content)],
        Message::User { content } => content
            .iter()
            .filter_map(|part| match part {
                UserContent::Text(text) => Some(Said::user(&text.text)),
                UserContent::ToolResult(result) => {
                    let texts = result.content.iter().filter_map(|part| part.as_text());
                    let texts: Vec<&str> = texts.collect();
                    Some(Said::tool(result.call.to_string(), texts.join("\n")))
                }
                _ => None,
            })
            .collect(),
        Message::Assistant(turn) => turn
            .content
            .iter()
            .filter_map(|part| match part {
                AssistantContent::Text(text) => Some(Said::assistant(&text.text)),
                AssistantContent::ToolCall(call) => {
                    let function = &call.function;
                    let arguments = function.arguments.clone();
                    let call =
                        ToolCall::new(call.id.to_string(), function.name.as_str(), arguments);
                    Some(Said::tool_calls([call]))
                }
                _ => None,
            })
            .collect(),
    }
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let folder = tempfile::tempdir()?;
    let reflect = ReflectClient::builder().embedded(folder.path().join("reflect.db"))?;
    let provider = Provider::from_env().await?;
    let config = OpenAIConfig::new(&provider.key).with_base_url(&provider.url);
    let agent = AgentBuilder::new(config.client().chat(MODEL))
        .preamble("Answer in one sentence.")
        .add_hook(Learning(reflect.clone()))
        .build();

    println!("{}", agent.prompt("May order 7 be refunded?").await?);
    reflect.flush(Duration::from_secs(10)).await;
    review(&reflect).await?;
    println!("{}", agent.prompt("May order 12 be refunded?").await?);
    Ok(())
}
