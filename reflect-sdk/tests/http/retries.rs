//! Retries over a real connection. Unit tests of the SDK cover the waits, on a paused clock.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use reflect_sdk::{Error, ReflectClient};
use serde_json::json;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::client;

fn receipt() -> ResponseTemplate {
    let body = json!({"trace_id": "0198", "ingest_status": "queued"});
    ResponseTemplate::new(202).set_body_json(body)
}

#[tokio::test]
async fn a_trace_keeps_its_idempotency_key_over_all_attempts() {
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(receipt())
        .with_priority(2)
        .mount(&server)
        .await;
    Mock::given(any())
        .respond_with(ResponseTemplate::new(503).insert_header("retry-after", "0"))
        .up_to_n_times(2)
        .with_priority(1)
        .mount(&server)
        .await;

    let client = client(&server.uri());
    client.create_trace("t", "prose").await.unwrap();
    client.create_trace("t", "prose").await.unwrap();

    let keys: Vec<_> = server.received_requests().await.unwrap();
    let keys: Vec<_> = keys
        .iter()
        .map(|r| r.headers["idempotency-key"].clone())
        .collect();
    assert_eq!(keys.len(), 4);
    assert!(keys[0] == keys[1] && keys[1] == keys[2]);
    assert_ne!(keys[2], keys[3], "another trace has another key");
}

#[tokio::test]
async fn a_bad_request_is_sent_once() {
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(ResponseTemplate::new(400))
        .expect(1)
        .mount(&server)
        .await;
    let error = client(&server.uri())
        .create_trace("t", "prose")
        .await
        .unwrap_err();
    assert_eq!(error.status(), Some(400));
}

#[tokio::test]
async fn a_key_is_created_once_when_the_reply_is_lost() {
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(ResponseTemplate::new(502))
        .expect(1)
        .mount(&server)
        .await;
    let error = client(&server.uri())
        .admin()
        .create_api_key("nightly")
        .scopes([reflect_sdk::types::Scope::TraceRead])
        .await
        .unwrap_err();
    assert_eq!(error.status(), Some(502));
}

#[tokio::test]
async fn only_reflects_own_503_means_that_nothing_was_done() {
    let full = json!({"detail": "the queue is full", "code": "overloaded"});
    let by_reflect = ResponseTemplate::new(503).set_body_json(full);
    let by_a_proxy = ResponseTemplate::new(503).set_body_string("<h1>upstream is gone</h1>");
    for (reply, attempts) in [(by_reflect, 3), (by_a_proxy, 1)] {
        let server = MockServer::start().await;
        Mock::given(any())
            .respond_with(reply.insert_header("retry-after", "0"))
            .expect(attempts)
            .mount(&server)
            .await;
        let error = client(&server.uri())
            .admin()
            .create_api_key("nightly")
            .scopes([reflect_sdk::types::Scope::TraceRead])
            .await;
        assert_eq!(error.unwrap_err().status(), Some(503));
    }
}

#[tokio::test]
async fn retry_after_is_read_as_seconds_or_as_a_date() {
    for (value, longest) in [("3600", 3_600), ("Fri, 31 Dec 2100 23:59:59 GMT", u64::MAX)] {
        let server = MockServer::start().await;
        let busy = ResponseTemplate::new(429).insert_header("retry-after", value);
        Mock::given(any())
            .respond_with(busy)
            .expect(1)
            .mount(&server)
            .await;
        let error = client(&server.uri()).health().await.unwrap_err();
        let after = error.retry_after().unwrap();
        assert!(after >= Duration::from_secs(3_600) && after <= Duration::from_secs(longest));
    }
}

#[tokio::test]
async fn a_call_whose_connection_breaks_is_repeated() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for (attempt, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let body = r#"{"status":"ok"}"#;
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
            let sent = if attempt == 0 { &body[..4] } else { body };
            stream
                .write_all(format!("{head}{sent}").as_bytes())
                .unwrap();
        }
    });
    let health = client(&format!("http://{address}")).health().await.unwrap();
    assert_eq!(health.status(), "ok");
}

#[tokio::test]
async fn a_call_to_a_server_that_hangs_ends_at_the_deadline() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = ReflectClient::builder()
        .timeout(Duration::from_secs(60))
        .deadline(Duration::from_millis(50))
        .http(format!("http://{}", listener.local_addr().unwrap()), "k")
        .unwrap();
    let error = client.health().await.unwrap_err();
    assert!(matches!(error, Error::Timeout { .. }), "{error:?}");
    let error = client.blocking().health().call().unwrap_err();
    assert!(matches!(error, Error::Timeout { .. }), "{error:?}");
}
