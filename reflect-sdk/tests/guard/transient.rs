//! Real errors of HTTP clients, sockets and timers.

use std::io;
use std::time::Duration;

use reflect_sdk::{ReflectClient, is_transient};
use tokio::net::TcpListener;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

/// The error of a request to a server that answers like this.
async fn answered(reply: ResponseTemplate) -> reqwest::Error {
    let server = MockServer::start().await;
    Mock::given(any()).respond_with(reply).mount(&server).await;
    let client = reqwest::Client::builder().timeout(Duration::from_millis(200));
    let reply = client.build().unwrap().get(server.uri()).send().await;
    reply
        .and_then(reqwest::Response::error_for_status)
        .unwrap_err()
}

/// The address of a port that nothing listens on.
async fn nowhere() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

#[tokio::test]
async fn a_status_is_transient_if_it_passes_by_itself() {
    for status in [408, 425, 429, 500, 502, 503, 504, 529] {
        let error = answered(ResponseTemplate::new(status)).await;
        assert!(is_transient(&error), "{error}");
        let report = anyhow::Error::from(error).context("ask the model");
        assert!(is_transient(report.as_ref()), "{report:#}");
        // What is left of it where errors are texts.
        let text = io::Error::other(format!("{report:#}"));
        assert!(is_transient(&text), "{text}");
    }
    for status in [400, 401, 404, 422] {
        let error = answered(ResponseTemplate::new(status)).await;
        assert!(!is_transient(&error), "{error}");
    }
}

#[tokio::test]
async fn a_reply_that_does_not_come_is_transient() {
    let slow = ResponseTemplate::new(200).set_delay(Duration::from_secs(60));
    let error = answered(slow).await;
    assert!(is_transient(&error), "{error:?}");

    let refused = reqwest::get(nowhere().await).await.unwrap_err();
    assert!(is_transient(&refused), "{refused:?}");

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let hang_up = async { drop(listener.accept().await.unwrap()) };
    let (reply, ()) = tokio::join!(reqwest::get(url), hang_up);
    let lost = reply.unwrap_err();
    assert!(is_transient(&lost), "{lost:?}");
}

#[tokio::test]
async fn other_errors_are_transient_if_they_say_so() {
    let late = tokio::time::timeout(Duration::ZERO, std::future::pending::<()>());
    assert!(is_transient(&late.await.unwrap_err()));

    let client = ReflectClient::builder()
        .http(&nowhere().await, "key")
        .unwrap();
    let error = client.get_trace("t").await.unwrap_err();
    assert!(is_transient(&error), "{error}");
    let text = io::Error::other(error.to_string());
    assert!(is_transient(&text), "{text}");
    assert!(is_transient(&io::Error::from(
        io::ErrorKind::ConnectionReset
    )));
    let texts = [
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        r#"{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your limit"}}"#,
        "tokens: Rate limit reached for gpt-4o (code: rate_limit_exceeded)",
        "Invalid status code 429 Too Many Requests with message: {}",
    ];
    for text in texts {
        assert!(is_transient(&io::Error::other(text)), "{text}");
    }
    let wrong = [
        "no such order",
        "the shop says that the payment timed out: refund it",
        "the delivery took longer than 30 days",
        "attempt to subtract with overflow",
        "No such file or directory (os error 2)",
        "line 429 has too many requests",
    ];
    for text in wrong {
        assert!(!is_transient(&io::Error::other(text)), "{text}");
    }
}
