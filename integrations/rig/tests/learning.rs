//! Agents of `rig` with a model server that is scripted, behind real HTTP.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use std::convert::Infallible;

use reflect_model_server::{Act, ModelRequest, ModelServer};
use reflect_rig::Learning;
use reflect_sdk::types::Usage;
use reflect_sdk::{Message, QueryOptions, Review, Verdict, testing};
use rig_agent::prelude::*;
use rig_core::providers::openai::OpenAIConfig;
use rig_core::tool::ToolContext;
use serde_json::{Value, json};

const QUESTION: &str = "May order 7 be refunded?";

fn agent(server: &ModelServer) -> AgentBuilder {
    let config = OpenAIConfig::new("key").with_base_url(server.url());
    AgentBuilder::new(config.client().chat("gpt-5.4-mini"))
}

/// Answers at once, or after a look if a memory asks for it.
fn scripted(asked: &ModelRequest) -> Act {
    let messages = asked.body["messages"].as_array().unwrap();
    let last = messages.last().unwrap();
    match last["role"].as_str() {
        Some("tool") => Act::Say("It is 60 days old: no.".to_owned()),
        _ if asked.text().contains("Look it up") => Act::Message(json!({
            "role": "assistant", "content": null, "tool_calls": [{
                "id": "call_1", "type": "function",
                "function": {"name": "get_order", "arguments": "{\"order\": 7}"}
            }]
        })),
        _ => Act::Say("Yes, gladly.".to_owned()),
    }
}

struct GetOrder;

impl Tool for GetOrder {
    const NAME: &'static str = "get_order";
    type Args = Value;
    type Output = String;
    type Error = Infallible;

    fn description(&self) -> String {
        "An order".to_owned()
    }

    fn parameters(&self) -> Value {
        json!({"type": "object", "properties": {"order": {"type": "integer"}}})
    }

    async fn call(&self, _: &mut ToolContext, _: Value) -> Result<String, Infallible> {
        Ok("60 days old".to_owned())
    }
}

#[tokio::test]
async fn an_agent_is_given_memories_and_its_run_is_recorded() {
    let server = ModelServer::start(scripted).await.unwrap();
    let (reflect, recorded) = testing::recorder();
    let memory = recorded.remember(QUESTION, "Look it up");
    let learning = Learning::new(&reflect).session("ticket 7");
    let agent = agent(&server).name("desk").tool(GetOrder);
    let agent = agent.add_hook(learning.clone()).build();
    let reply = agent.prompt(QUESTION).await.unwrap().to_string();
    assert_eq!(reply, "It is 60 days old: no.");

    let run = &recorded.traces()[0];
    assert_eq!((run.task.as_str(), &run.retrieved_memory_ids), (QUESTION, &vec![memory]));
    assert_eq!(run.final_response.as_ref(), Some(&reply));
    assert_eq!(run.session_id.as_deref(), Some("ticket 7"));
    assert_eq!(run.metadata["agent"], "desk");
    assert!(run.model.as_ref().unwrap().starts_with("gpt-5.4-mini"));
    assert!(run.usage.is_some_and(|usage| usage != Usage::default()), "{:?}", run.usage);
    let messages = run.trajectory.clone().into_messages();
    let roles: Vec<_> = messages.iter().map(|m| m.role.as_ref().unwrap().to_string()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant"]);
    assert!(messages[0].text().contains("Look it up"));
    assert_eq!(messages[1].calls()[0].function.name, "get_order");
    assert_eq!(messages[2], Message::tool("call_1", "60 days old"));

    let review = Review::fail("Say when it may be refunded");
    learning.last_run().unwrap().handle().review(review.clone()).await.unwrap();
    assert_eq!(recorded.reviews(), [(run.idempotency_key.clone().unwrap(), review)]);
}

#[tokio::test]
async fn a_prompt_may_have_a_hook_of_its_own() {
    let server = ModelServer::start(scripted).await.unwrap();
    let (reflect, recorded) = testing::recorder();
    recorded.remember(QUESTION, "Look it up");
    let agent = agent(&server).build();
    let nothing = QueryOptions::default().metadata_filter("team", "eu").limit(1);
    let learning = Learning::new(&reflect).query(nothing);
    agent.prompt("Hello").add_hook(learning.clone()).await.unwrap();
    agent.prompt(QUESTION).await.unwrap();
    let run_id = learning.last_run().unwrap().run_id().to_owned();
    let [run] = &recorded.traces()[..] else {
        unreachable!("{:?}", recorded.traces())
    };
    assert_eq!((run.task.as_str(), run.idempotency_key.as_ref()), ("Hello", Some(&run_id)));
    assert_eq!(run.review, None);
}

#[tokio::test]
async fn a_run_that_fails_is_recorded_as_failed_with_the_error() {
    let server = ModelServer::start(|_| Act::Reject("no such model".to_owned())).await.unwrap();
    let (reflect, recorded) = testing::recorder();
    let agent = agent(&server).add_hook(Learning::new(&reflect)).build();
    agent.prompt(QUESTION).await.unwrap_err();
    let run = &recorded.traces()[0];
    let review = run.review.as_ref().unwrap();
    assert_eq!(review.result, Verdict::Fail);
    let feedback = review.feedback_text.as_deref().unwrap();
    assert!(feedback.contains("no such model"), "{feedback}");
}
