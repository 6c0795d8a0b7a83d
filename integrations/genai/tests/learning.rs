//! Agents of `genai` with a model server that is scripted, behind real HTTP.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use genai::adapter::AdapterKind;
use genai::chat::{ChatRequest, ToolResponse};
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, ModelIden, ServiceTarget};
use reflect_genai::Run;
use reflect_model_server::{Act, ModelRequest, ModelServer};
use reflect_sdk::types::Usage;
use reflect_sdk::{Message, Review, Verdict, testing};
use serde_json::json;

const QUESTION: &str = "May order 7 be refunded?";

fn model(server: &ModelServer) -> ServiceTarget {
    ServiceTarget {
        endpoint: Endpoint::from_owned(format!("{}/", server.url())),
        auth: AuthData::from_single("key"),
        model: ModelIden::new(AdapterKind::OpenAI, "gpt-5.4-mini"),
    }
}

/// Answers at once, or after a look if a memory asks for it.
fn scripted(asked: &ModelRequest) -> Act {
    let messages = asked.body["messages"].as_array().unwrap();
    match messages.last().unwrap()["role"].as_str() {
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

#[tokio::test]
async fn an_agent_is_given_memories_and_its_run_is_recorded() {
    let server = ModelServer::start(scripted).await.unwrap();
    let (reflect, recorded) = testing::recorder();
    let memory = recorded.remember(QUESTION, "Look it up");
    let request = ChatRequest::from_user(QUESTION).with_system("Be short.");
    let mut run = Run::start_with(&reflect, request, |run| run.session("ticket 7")).await;
    let client = Client::default();
    let called = run.exec_chat(&client, model(&server), None).await.unwrap();
    let call = called.tool_calls()[0];
    run.append(ToolResponse::new(&call.call_id, "60 days old"));
    let reply = run.exec_chat(&client, model(&server), None).await.unwrap();
    assert_eq!(reply.first_text(), Some("It is 60 days old: no."));
    let handle = run.handle();
    drop(run);

    let run = &recorded.traces()[0];
    assert_eq!((run.task.as_str(), &run.retrieved_memory_ids), (QUESTION, &vec![memory]));
    assert_eq!(run.session_id.as_deref(), Some("ticket 7"));
    assert!(run.model.as_ref().unwrap().starts_with("gpt-5.4-mini"));
    assert!(run.usage.is_some_and(|usage| usage != Usage::default()), "{:?}", run.usage);
    let messages = run.trajectory.clone().into_messages();
    let roles: Vec<_> = messages.iter().map(|m| m.role.as_ref().unwrap().to_string()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "assistant"]);
    assert!(messages[1].text().contains("Look it up"));
    assert_eq!(messages[3], Message::tool("call_1", "60 days old"));

    handle.review(Review::pass()).await.unwrap();
    assert_eq!(recorded.reviews().len(), 1);
}

#[tokio::test]
async fn a_verdict_that_the_code_knows_is_recorded_with_the_run() {
    let server = ModelServer::start(scripted).await.unwrap();
    let (reflect, recorded) = testing::recorder();
    let mut run = Run::start(&reflect, ChatRequest::from_user(QUESTION)).await;
    run.exec_chat(&Client::default(), model(&server), None).await.unwrap();
    run.review(Review::fail("It is too old"));
    drop(run);
    let run = &recorded.traces()[0];
    assert_eq!(run.review, Some(Review::fail("It is too old")));
    assert!(run.model.is_some());
}

#[tokio::test]
async fn a_run_that_fails_is_recorded_as_failed_with_the_error() {
    let server = ModelServer::start(|_| Act::Reject("no such model".to_owned())).await.unwrap();
    let (reflect, recorded) = testing::recorder();
    let mut run = Run::start(&reflect, ChatRequest::from_user(QUESTION)).await;
    run.exec_chat(&Client::default(), model(&server), None).await.unwrap_err();
    drop(run);
    let run = &recorded.traces()[0];
    assert_eq!(run.review.as_ref().unwrap().result, Verdict::Fail);
    assert_eq!(run.trajectory.clone().into_messages(), [Message::user(QUESTION)]);
}

#[tokio::test]
async fn a_run_without_a_question_is_left_without_memories() {
    let (reflect, recorded) = testing::recorder();
    let mut run = Run::start(&reflect, ChatRequest::from_system("Be short.")).await;
    assert!(run.memories().is_empty());
    run.append(genai::chat::ChatMessage::assistant("Hello"));
    drop(run);
    assert_eq!(recorded.traces()[0].trajectory.clone().into_messages().len(), 2);
}
