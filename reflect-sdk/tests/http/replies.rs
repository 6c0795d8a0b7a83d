//! Bad input and bad replies are errors without secrets.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use reflect_sdk::admin::bootstrap;
use reflect_sdk::types::Bootstrap;
use reflect_sdk::{Error, ErrorCode, Review};
use serde_json::json;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::{KEY, client};

async fn answering(reply: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(any()).respond_with(reply).mount(&server).await;
    server
}

async fn failure(reply: ResponseTemplate) -> Error {
    let server = answering(reply).await;
    client(&server.uri()).get_trace("0198").await.unwrap_err()
}

#[tokio::test]
async fn bad_input_is_refused_before_anything_is_sent() {
    let server = answering(ResponseTemplate::new(200)).await;
    let client = client(&server.uri());
    let refusals = [
        client.query_memories(" ").await.unwrap_err(),
        client
            .augment_with_memories("t")
            .limit(0)
            .await
            .unwrap_err(),
        client.query_memories("t").lambda(1.1).await.unwrap_err(),
        client.create_trace("", "prose").await.unwrap_err(),
        client
            .create_trace("t", "prose")
            .alpha(0.3)
            .await
            .unwrap_err(),
        client
            .create_trace("t", "prose")
            .pass()
            .alpha(7.0)
            .await
            .unwrap_err(),
        client
            .create_trace("t", "prose")
            .pass()
            .alpha(f64::NAN)
            .await
            .unwrap_err(),
        client.create_trace_and_wait("", "prose").await.unwrap_err(),
        client
            .create_trace("t", "prose")
            .idempotency_key("")
            .await
            .unwrap_err(),
        client.review_trace("..", Review::pass()).await.unwrap_err(),
        client
            .review_trace("x", Review::pass().alpha(-1.0))
            .await
            .unwrap_err(),
        client.get_trace("").await.unwrap_err(),
        client.list_traces().limit(0).await.unwrap_err(),
        client
            .delete_traces(Vec::<String>::new())
            .await
            .unwrap_err(),
        client.admin().create_api_key(" ").await.unwrap_err(),
        client
            .create_skill()
            .n_passed(0)
            .n_failed(0)
            .await
            .unwrap_err(),
        client.blocking().wait_for_trace(".").call().unwrap_err(),
    ];
    for refusal in refusals {
        assert!(matches!(refusal, Error::Invalid(_)), "{refusal:?}");
        assert!(!refusal.is_retryable());
    }
    assert!(server.received_requests().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_refusal_has_all_parts_of_the_reply() {
    let body =
        json!({"detail": "`limit` must be at least 1", "code": "invalid_field", "field": "limit"});
    let reply = ResponseTemplate::new(422)
        .set_body_json(body)
        .insert_header("x-request-id", "req-7");
    let error = failure(reply).await;
    assert_eq!(
        error.to_string(),
        "`limit` must be at least 1 (422 invalid_field), request req-7"
    );
    assert_eq!(
        (error.status(), error.code()),
        (Some(422), Some(&ErrorCode::InvalidField))
    );
}

#[tokio::test]
async fn a_refusal_of_another_server_is_shown_as_it_is() {
    let body = json!({"detail": [{"loc": ["body", "task"], "msg": "field required"}]});
    let error = failure(ResponseTemplate::new(422).set_body_json(body)).await;
    assert!(error.to_string().contains("field required"), "{error}");

    let error = failure(ResponseTemplate::new(418).set_body_string("short and stout")).await;
    assert!(error.to_string().contains("short and stout"), "{error}");
    assert_eq!(error.code(), Some(&ErrorCode::Other("http_418".to_owned())));
}

#[tokio::test]
async fn a_malformed_reply_is_shown_with_its_status() {
    for body in [
        "<html>proxy login</html>",
        "",
        "[1, 2",
        r#"{"id": 7}"#,
        "null",
        "\u{fffd}",
    ] {
        let error = failure(ResponseTemplate::new(200).set_body_string(body)).await;
        assert!(
            matches!(error, Error::Decode { status: 200, .. }),
            "{body}: {error:?}"
        );
        assert!(error.to_string().contains("status 200"), "{error}");
    }
    let error = failure(ResponseTemplate::new(204)).await;
    assert!(error.to_string().contains("status 204"), "{error}");
}

#[tokio::test]
async fn a_redirect_is_not_followed_but_explained() {
    let reply = ResponseTemplate::new(301).insert_header("location", "https://elsewhere.test/");
    let error = failure(reply).await;
    assert!(
        error.to_string().contains("https://elsewhere.test/"),
        "{error}"
    );
}

#[tokio::test]
async fn an_unreachable_server_is_explained() {
    let error = client("http://127.0.0.1:9").health().await.unwrap_err();
    assert!(error.is_retryable());
    assert!(error.to_string().contains("check the base URL"), "{error}");
}

/// The error of a server that sends the token back.
async fn bootstrap_failure(token: &str) -> Error {
    let echo = json!({"detail": format!("{token} is wrong"), "code": token, "field": token});
    let server = answering(ResponseTemplate::new(401).set_body_json(echo)).await;
    let request = Bootstrap::new("me", "support");
    bootstrap(server.uri(), token, request)
        .unwrap()
        .await
        .unwrap_err()
}

#[tokio::test]
async fn an_endless_reply_is_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        let _ = stream.read(&mut [0; 4096]);
        let head = "HTTP/1.1 200 OK\r\ncontent-length: 999999999999\r\n\r\n";
        stream.write_all(head.as_bytes()).unwrap();
        // The client closes the connection.
        let _ = stream.read(&mut [0; 1]);
    });
    let client = client(&format!("http://{address}"));
    let error = client.health().await.unwrap_err();
    assert!(error.to_string().contains("256 MiB"), "{error}");
}

#[tokio::test]
async fn no_error_shows_a_secret() {
    let echo = json!({"detail": format!("bad key {KEY}"), "code": "unauthorized"});
    let errors = [
        failure(ResponseTemplate::new(401).set_body_json(echo)).await,
        failure(ResponseTemplate::new(200).set_body_string(format!("{{\"api_key\": \"{KEY}\"}}")))
            .await,
        failure(ResponseTemplate::new(200).set_body_json(KEY)).await,
        failure(ResponseTemplate::new(500).set_body_string(KEY)).await,
        failure(
            ResponseTemplate::new(302)
                .insert_header("location", format!("/login?next={KEY}"))
                .insert_header("x-request-id", KEY),
        )
        .await,
        bootstrap_failure("open-secret456-sesame").await,
        client("http://127.0.0.1:9").health().await.unwrap_err(),
    ];
    for error in errors {
        let mut shown = vec![format!("{error} {error:?}")];
        let mut source = std::error::Error::source(&error);
        while let Some(deeper) = source {
            shown.push(format!("{deeper} {deeper:?}"));
            source = deeper.source();
        }
        let shown = shown.join("\n");
        assert!(!shown.contains("secret456"), "{shown}");
    }
}
