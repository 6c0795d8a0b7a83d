//! An agent of another library that learns: here `async-openai`, whose messages are the trajectory.
//!
//!     cargo run -p reflect-model-examples --example frameworks
//!
//! Two things are wired: the prompt is the augmented task, and the messages are handed over as JSON,
//! which every chat library can write. It runs offline with a scripted model behind a real HTTP
//! server; with `OPENAI_API_KEY` set it asks OpenAI (`OPENAI_BASE_URL` and `OPENAI_MODEL` say which).

use std::env;

use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::types::chat::{
    ChatCompletionMessageToolCalls, ChatCompletionRequestAssistantMessageArgs,
    ChatCompletionRequestMessage, ChatCompletionRequestToolMessageArgs,
    ChatCompletionRequestUserMessage, ChatCompletionTool, ChatCompletionTools,
    CreateChatCompletionRequestArgs, FunctionObjectArgs,
};
use reflect_model_server::{Act, ModelRequest, ModelServer};
use reflect_sdk::{BoxError, ReflectClient, TraceOutput};
use serde_json::json;

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let folder = tempfile::tempdir()?;
    let reflect = ReflectClient::builder().embedded(folder.path().join("reflect.db"))?;
    let offline = ModelServer::start(scripted).await?;
    let agent = match env::var("OPENAI_API_KEY") {
        Ok(key) if !key.is_empty() => Client::with_config(OpenAIConfig::new()),
        _ => Client::with_config(
            OpenAIConfig::new()
                .with_api_base(offline.url())
                .with_api_key("offline"),
        ),
    };

    for (order, days) in [("7", 60), ("12", 45)] {
        let task = format!("Refund order {order}, please");
        let run = reflect.trace(&task).limit(3).until_learned(true).await;
        let user = ChatCompletionRequestUserMessage::from(run.augmented_task());
        let mut messages: Vec<ChatCompletionRequestMessage> = vec![user.into()];
        let worked = work(&agent, &mut messages, days).await;
        // The messages of the library, as they are, also of a run that breaks.
        let output = TraceOutput::new(serde_json::to_value(&messages)?);
        run.set_output(output.clone());
        run.fail_on_err(worked)?;

        let refunded = serde_json::to_string(&messages)?.contains("\"refund\"");
        println!(
            "{task}: {} memories, refunded: {refunded}",
            run.memories().len()
        );

        run.set_output(if refunded {
            output.fail("Call get_order first and refund only orders of at most 30 days")
        } else {
            output.pass()
        });
        // The run ends here, and with `blocking` its memory exists before the next one starts.
    }
    Ok(())
}

/// An ordinary tool loop of `async-openai`, which knows nothing of Reflect.
async fn work(
    agent: &Client<OpenAIConfig>,
    messages: &mut Vec<ChatCompletionRequestMessage>,
    days: u32,
) -> Result<(), BoxError> {
    for _ in 0..5 {
        let request = CreateChatCompletionRequestArgs::default()
            .model(env::var("OPENAI_MODEL").unwrap_or_else(|_| "gpt-5.4-mini".to_owned()))
            .messages(messages.clone())
            .tools(vec![tool("get_order")?, tool("refund")?])
            .build()?;
        let reply = agent.chat().create(request).await?;
        let reply = reply.choices.into_iter().next().ok_or("no answer")?.message;
        let calls = reply.tool_calls.unwrap_or_default();
        let mut said = ChatCompletionRequestAssistantMessageArgs::default();
        said.content(reply.content.unwrap_or_default());
        if calls.is_empty() {
            messages.push(said.build()?.into());
            break;
        }
        messages.push(said.tool_calls(calls.clone()).build()?.into());
        for call in calls {
            let ChatCompletionMessageToolCalls::Function(call) = call else {
                continue;
            };
            let result = match call.function.name.as_str() {
                "get_order" => format!("{days} days old"),
                _ => "refunded".to_owned(),
            };
            let answer = ChatCompletionRequestToolMessageArgs::default()
                .tool_call_id(call.id)
                .content(result)
                .build()?;
            messages.push(answer.into());
        }
    }
    Ok(())
}

fn tool(name: &str) -> Result<ChatCompletionTools, BoxError> {
    let parameters = json!({"type": "object", "properties": {"order": {"type": "string"}}});
    let function = FunctionObjectArgs::default()
        .name(name)
        .parameters(parameters)
        .build()?;
    Ok(ChatCompletionTools::Function(ChatCompletionTool {
        function,
    }))
}

/// Stands for a model: it refunds at once, unless a memory in its prompt says what to look at.
fn scripted(asked: &ModelRequest) -> Act {
    let messages = asked.body["messages"].as_array().cloned();
    let messages = messages.unwrap_or_default();
    let last = messages.last().and_then(|last| last["content"].as_str());
    let call = |tool: &str| {
        let function = json!({"name": tool, "arguments": "{}"});
        let call = json!({"id": "call_1", "type": "function", "function": function});
        Act::Message(json!({"role": "assistant", "content": null, "tool_calls": [call]}))
    };
    match last {
        Some(result) if result.contains("days old") => Act::Say("It is too old.".to_owned()),
        Some("refunded") => Act::Say("Done.".to_owned()),
        Some(prompt) if prompt.contains("get_order") => call("get_order"),
        _ => call("refund"),
    }
}
