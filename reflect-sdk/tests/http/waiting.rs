//! `wait_for_trace` and `create_trace_and_wait`.

use std::time::Duration;

use reflect_sdk::{Error, IngestStatus, ReflectClient, ReviewStatus};
use serde_json::{Value, json};
use wiremock::matchers::method;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::client;

const SHORT: Duration = Duration::from_millis(1);

fn trace(review_status: &str, ingest_status: &str, error: Option<&str>) -> ResponseTemplate {
    let memory = (review_status == "reviewed").then_some("mem-1");
    ResponseTemplate::new(200).set_body_json(json!({
        "id": "0198", "task": "t", "trajectory": [], "review_status": review_status,
        "ingest_status": ingest_status, "last_ingest_error": error, "created_memory_id": memory,
    }))
}

fn not_there() -> ResponseTemplate {
    ResponseTemplate::new(404).set_body_json(json!({"detail": "no such trace"}))
}

/// A server that answers each poll with the next reply, and further ones with the last.
async fn answering(looks: Vec<ResponseTemplate>) -> (MockServer, ReflectClient) {
    let server = MockServer::start().await;
    let last = looks.len() - 1;
    for (turn, look) in looks.into_iter().enumerate() {
        let mock = Mock::given(method("GET")).respond_with(look);
        let priority = u8::try_from(turn + 1).unwrap();
        if turn == last {
            mock.with_priority(priority).mount(&server).await;
        } else {
            mock.up_to_n_times(1)
                .with_priority(priority)
                .mount(&server)
                .await;
        }
    }
    let receipt = json!({"trace_id": "0198", "ingest_status": "queued"});
    let receipt = ResponseTemplate::new(202).set_body_json(receipt);
    Mock::given(method("POST"))
        .respond_with(receipt)
        .mount(&server)
        .await;
    let client = client(&server.uri());
    (server, client)
}

async fn looks(server: &MockServer) -> usize {
    let requests = server.received_requests().await.unwrap();
    requests
        .iter()
        .filter(|request| request.method == "GET")
        .count()
}

#[tokio::test]
async fn a_trace_that_is_not_stored_yet_is_waited_for() {
    let looks_like = vec![
        not_there(),
        not_there(),
        trace("pending", "queued", None),
        trace("reviewed", "completed", None),
    ];
    let (server, client) = answering(looks_like).await;
    let call = client
        .wait_for_trace("0198")
        .require_reviewed()
        .poll_interval(SHORT);
    let trace = call.await.unwrap();
    assert_eq!(trace.review_status, ReviewStatus::Reviewed);
    assert_eq!(looks(&server).await, 4);
}

#[tokio::test]
async fn without_require_reviewed_a_stored_trace_is_enough() {
    let (server, client) = answering(vec![trace("pending", "queued", None)]).await;
    let trace = client.wait_for_trace("0198").await.unwrap();
    assert_eq!(trace.ingest_status, IngestStatus::Queued);
    assert_eq!(looks(&server).await, 1);
}

#[tokio::test]
async fn a_failed_ingestion_is_an_error_with_the_servers_reason() {
    for (reason, shown) in [
        (Some("model is down"), "model is down"),
        (None, "gave no reason"),
    ] {
        let (_server, client) = answering(vec![trace("pending", "failed", reason)]).await;
        let error = client.wait_for_trace("0198").await.unwrap_err();
        assert!(matches!(error, Error::IngestFailed { .. }), "{error:?}");
        assert!(error.to_string().contains(shown), "{error}");
    }
}

#[tokio::test]
async fn there_is_one_poll_however_short_the_timeout() {
    let (server, client) = answering(vec![trace("pending", "processing", None)]).await;
    let call = client
        .wait_for_trace("0198")
        .require_reviewed()
        .timeout(Duration::ZERO);
    let error = call.await.unwrap_err();
    assert!(matches!(error, Error::Timeout { .. }), "{error:?}");
    assert_eq!(looks(&server).await, 1);

    let (_server, client) = answering(vec![trace("reviewed", "completed", None)]).await;
    let call = client
        .blocking()
        .wait_for_trace("0198")
        .require_reviewed()
        .timeout(Duration::ZERO);
    assert!(
        call.call().is_ok(),
        "what is there at the first look is not late"
    );
}

#[tokio::test]
async fn another_error_ends_the_wait() {
    let (server, client) = answering(vec![ResponseTemplate::new(403)]).await;
    let error = client.wait_for_trace("0198").await.unwrap_err();
    assert_eq!(error.status(), Some(403));
    assert_eq!(looks(&server).await, 1);
}

#[tokio::test]
async fn create_trace_and_wait_requires_the_review_exactly_when_there_is_a_verdict() {
    let looks_like = || {
        vec![
            trace("pending", "queued", None),
            trace("reviewed", "completed", None),
        ]
    };

    let (server, client) = answering(looks_like()).await;
    let call = client
        .create_trace_and_wait("t", "prose")
        .pass()
        .poll_interval(SHORT);
    assert_eq!(call.await.unwrap().created_memory_id.unwrap(), "mem-1");
    assert_eq!(looks(&server).await, 2);

    let (server, client) = answering(looks_like()).await;
    let trace = client.create_trace("t", "prose").wait().await.unwrap();
    assert_eq!(trace.created_memory_id, None);
    assert_eq!(looks(&server).await, 1);
}

#[test]
fn options_may_come_before_or_after_wait() {
    let client = client("http://localhost:1");
    let before = client
        .create_trace("t", Value::Null)
        .model("m")
        .pass()
        .wait();
    let after = client
        .create_trace_and_wait("t", Value::Null)
        .model("m")
        .pass();
    let shown = |call: String| call.split("idempotency_key").next().unwrap().to_owned();
    assert_eq!(shown(format!("{before:?}")), shown(format!("{after:?}")));
}
