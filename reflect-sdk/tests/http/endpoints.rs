//! Every endpoint: the exact request, and the parsed reply. The fixtures are the documented API.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::Path;

use reflect_sdk::admin::bootstrap;
use reflect_sdk::calls::{Action, Call};
use reflect_sdk::types::{Bootstrap, Environment, KeyStatus, Scope};
use reflect_sdk::{
    IngestStatus, Message, ReflectClient, Review, ReviewStatus, Reviewer, ToolCall, Verdict,
};
use serde::Deserialize;
use serde_json::Value;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::client;

#[derive(Deserialize)]
struct Fixture {
    request: Expected,
    reply: Reply,
}

#[derive(Deserialize)]
struct Expected {
    method: String,
    path: String,
    headers: BTreeMap<String, String>,
    body: Value,
}

#[derive(Deserialize)]
struct Reply {
    status: u16,
    body: Value,
}

/// Makes the call, async and blocking, with the fixture's reply, and compares the requests with the
/// fixture's.
async fn exchange<A: Action + Clone + Debug>(
    fixture: &str,
    call: impl Fn(ReflectClient) -> Call<A>,
) -> A::Output {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/http/fixtures")
        .join(format!("{fixture}.json"));
    let fixture: Fixture = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let server = MockServer::start().await;
    let reply = ResponseTemplate::new(fixture.reply.status).set_body_json(&fixture.reply.body);
    Mock::given(any()).respond_with(reply).mount(&server).await;

    let output = call(client(&server.uri())).await.unwrap();
    call(client(&server.uri())).blocking().call().unwrap();

    let sent = server.received_requests().await.unwrap();
    assert_eq!(sent.len(), 2);
    for request in sent {
        let expected = &fixture.request;
        assert_eq!(request.method.as_str(), expected.method);
        let path = &request.url[url::Position::BeforePath..];
        assert_eq!(path, expected.path);
        for (name, value) in &expected.headers {
            assert_eq!(request.headers[name.as_str()], value.as_str(), "{name}");
        }
        assert_eq!(
            request.headers.contains_key("authorization"),
            expected.headers.contains_key("authorization")
        );
        let body = serde_json::from_slice(&request.body).unwrap_or(Value::Null);
        assert_eq!(body, expected.body);
        let is_trace = expected.method == "POST" && expected.path.ends_with("/traces");
        assert_eq!(request.headers.contains_key("idempotency-key"), is_trace);
    }
    output
}

fn run() -> Vec<Message> {
    vec![
        Message::user("Refund order 7"),
        Message::tool_calls([ToolCall::new("c1", "get_order", r#"{"id":7}"#)]),
        Message::tool("c1", "60 days old").name("get_order"),
        Message::assistant("Done."),
    ]
}

#[tokio::test]
async fn health() {
    let health = exchange("health", |client| client.health()).await;
    assert_eq!(health.status(), "ok");
}

#[tokio::test]
async fn bootstrap_sends_the_token_and_no_key() {
    let made = exchange("bootstrap", |client| {
        let base = format!("{client:?}");
        let base = base
            .split('"')
            .find(|part| part.starts_with("http://"))
            .unwrap();
        let request = Bootstrap::new("ada", "team/support ü");
        bootstrap(base, "boot-secret", request).unwrap()
    })
    .await;
    assert_eq!(made.api_key, "rf_live_new_topsecret");
    assert!(!format!("{made:?}").contains("topsecret"));
}

#[tokio::test]
async fn query_memories() {
    let memories = exchange("query_memories_defaults", |client| {
        client.query_memories("Refund order 7")
    })
    .await;
    assert_eq!(memories[0].id, "mem-1");
    assert_eq!(memories[0].applicable_tools, ["get_order"]);

    let none = exchange("query_memories_all_options", |client| {
        client
            .query_memories("Refund order 7")
            .limit(3)
            .lambda(0.25)
            .mmr_lambda(1.0)
            .metadata_filter("customer", "acme")
            .metadata_filter("tier", 2)
            .similarity_threshold(0.2)
    })
    .await;
    assert!(none.is_empty());

    let null = exchange("query_memories_null_reply", |client| {
        client.query_memories("Refund order 7")
    })
    .await;
    assert!(null.is_empty());
}

#[tokio::test]
async fn augment_with_memories_is_a_query() {
    let augmented = exchange("query_memories_defaults", |client| {
        // Without a share of its own, it would ask for that of the project.
        client
            .augment_with_memories("Refund order 7")
            .control_share(0.0)
    })
    .await;
    assert!(
        augmented
            .augmented_task
            .starts_with("Refund order 7\n\n<relevant_memories>")
    );
    assert_eq!(augmented.memory_ids(), ["mem-1"]);
}

#[tokio::test]
async fn create_trace() {
    let stored = exchange("create_trace_minimal", |client| {
        client.create_trace("Refund order 7", "I refunded it.")
    })
    .await;
    assert_eq!(stored.ingest_status, IngestStatus::Completed);

    let queued = exchange("create_trace_all_options", |client| {
        client
            .create_trace("Refund order 7", run())
            .retrieved(["mem-1", "mem-2"])
            .model("gpt-5.4-mini")
            .metadata("customer", "acme")
            .metadata("attempt", 2)
            .final_response("Done.")
            .reference_context("Refunds within 30 days only.")
            .alpha(0.5)
            .fail("too old")
            // As the Python client gives it.
            .reviewer(Reviewer::Human)
    })
    .await;
    assert_eq!(queued.ingest_status, IngestStatus::Queued);
}

#[tokio::test]
async fn create_memory() {
    let stored = exchange("create_memory", |client| {
        client
            .create_memory(
                "Refund an order",
                "30 days",
                "check the date",
                Verdict::Pass,
            )
            .key_mistake("promised too early")
            .correct_action("look it up")
            .applicable_tools(["get_order"])
            .retrieved_memories(["mem-1"])
    })
    .await;
    assert_eq!(stored.trace_id, "0198-c");
}

#[tokio::test]
async fn list_traces() {
    let all = exchange("list_traces_all", |client| client.list_traces()).await;
    assert_eq!(all[0].review_status, ReviewStatus::Pending);
    assert_eq!(all[1].trajectory, run());
    let page = exchange("list_traces_pending_page", |client| {
        client.list_traces().pending().limit(20).before("0198-b")
    })
    .await;
    assert!(page.is_empty());
}

#[tokio::test]
async fn get_trace() {
    let trace = exchange("get_trace", |client| client.get_trace("0198-a")).await;
    assert_eq!(trace.review.unwrap().result, Verdict::Fail);
    assert_eq!(trace.created_memory_id.unwrap(), "mem-9");
}

#[tokio::test]
async fn review_trace() {
    exchange("review_trace_pass", |client| {
        client.review_trace("0198-b", Verdict::Pass)
    })
    .await;
    let reviewed = exchange("review_trace_fail", |client| {
        client.review_trace("0198-b", Review::fail("too old").alpha(0.1))
    })
    .await;
    assert_eq!(reviewed.review_status, ReviewStatus::Reviewed);
}

#[tokio::test]
async fn change_review() {
    let changed = exchange("change_review", |client| {
        client.change_review("0198-b", Review::fail("too old").alpha(0.1))
    })
    .await;
    assert_eq!(changed.review_status, ReviewStatus::Reviewed);
}

#[tokio::test]
async fn withdraw_review() {
    exchange("withdraw_review", |client| client.withdraw_review("0198-a")).await;
}

#[tokio::test]
async fn retry_trace() {
    let again = exchange("retry_trace", |client| client.retry_trace("0198-b")).await;
    assert_eq!(again.ingest_status, IngestStatus::Queued);
}

#[tokio::test]
async fn delete_traces() {
    let gone = exchange("delete_traces", |client| {
        client.delete_traces(["0198-a", "0198-b"])
    })
    .await;
    assert_eq!(gone.deleted, 2);
    exchange("delete_traces_and_memories", |client| {
        client.delete_traces(["0198-a"]).and_memories()
    })
    .await;
}

#[tokio::test]
async fn skill() {
    let skill = exchange("get_skill", |client| client.get_skill())
        .await
        .unwrap();
    assert_eq!((skill.version, skill.source_memory_ids.len()), (2, 1));
    assert_eq!(
        exchange("get_skill_none", |client| client.get_skill()).await,
        None
    );
    exchange("create_skill_defaults", |client| client.create_skill()).await;
    exchange("create_skill_options", |client| {
        client.create_skill().n_passed(7).n_failed(3)
    })
    .await;
}

#[tokio::test]
async fn api_keys() {
    let keys = exchange("list_api_keys", |client| client.admin().list_api_keys()).await;
    assert_eq!(keys[0].scopes, [Scope::MemoryRead, Scope::TraceWrite]);
    let made = exchange("create_api_key", |client| {
        client
            .admin()
            .create_api_key("nightly")
            .scopes([Scope::MemoryRead, Scope::TraceWrite])
            .environment(Environment::Test)
    })
    .await;
    assert_eq!(made.api_key, "rf_test_new_topsecret");
    assert!(!format!("{made:?}").contains("topsecret"));
    let ended = exchange("revoke_api_key", |client| {
        client.admin().revoke_api_key("key-1")
    })
    .await;
    assert_eq!(ended.status, KeyStatus::Revoked);
}

#[tokio::test]
async fn delete_project() {
    let gone = exchange("delete_project", |client| client.admin().delete_project()).await;
    assert!(gone.deleted);
}
