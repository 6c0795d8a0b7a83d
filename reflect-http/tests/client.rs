//! The client against a server that answers with scripted bytes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use std::time::Duration;

use reflect_http::{BuildError, Client, Error, Method, NoReplyKind, Refusal, SecretString};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// Answers one request with these bytes and closes the connection; gives the request back.
async fn server(answer: impl Into<Vec<u8>>) -> (String, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answer = answer.into();
    let serving = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = String::new();
        while !is_whole(&request) {
            let mut part = [0; 1024];
            let length = stream.read(&mut part).await.unwrap();
            request.push_str(std::str::from_utf8(&part[..length]).unwrap());
        }
        stream.write_all(&answer).await.unwrap();
        request
    });
    (url, serving)
}

fn is_whole(request: &str) -> bool {
    let Some((head, body)) = request.split_once("\r\n\r\n") else {
        return false;
    };
    let mut lines = head.lines();
    let length = lines.find_map(|line| line.strip_prefix("content-length: "));
    body.len() == length.map_or(0, |length| length.parse().unwrap())
}

fn reply(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\n\r\n{body}")
}

fn client(url: &str) -> Client {
    let key = SecretString::from("sk-hush-hush");
    Client::builder(url).bearer(key).build().unwrap()
}

async fn error(answer: impl Into<Vec<u8>>) -> Error {
    let (url, _serving) = server(answer).await;
    let reply = client(&url).get("/x").reply::<Value>().await;
    reply.unwrap_err()
}

async fn refusal(answer: String) -> Box<Refusal> {
    match error(answer).await {
        Error::Refused(refusal) => refusal,
        other => unreachable!("{other}"),
    }
}

#[tokio::test]
async fn a_request_carries_its_key_headers_and_body() {
    let (url, serving) = server(reply("200 OK", "link: <next>\r\n", "[1]")).await;
    let request = client(&format!("{url}/api/"))
        .request(Method::PUT, "/v1/items?limit=2")
        .header("idempotency-key", "once")
        .unwrap()
        .json(&json!({"name": "a"}));
    let reply = request.send().await.unwrap();
    assert_eq!(
        (reply.status(), reply.header("link")),
        (200, Some("<next>"))
    );
    assert_eq!(reply.json::<Vec<u8>>().unwrap(), [1]);

    let sent = serving.await.unwrap();
    assert!(sent.starts_with("PUT /api/v1/items?limit=2 HTTP/1.1\r\n"));
    for line in [
        "authorization: Bearer sk-hush-hush",
        "idempotency-key: once",
        "content-type: application/json",
    ] {
        assert!(sent.contains(&format!("{line}\r\n")), "{sent}");
    }
    assert!(sent.ends_with(r#"{"name":"a"}"#), "{sent}");
}

#[tokio::test]
async fn a_text_that_is_json_goes_as_it_is() {
    let (url, serving) = server(reply("200 OK", "", "null")).await;
    let request = client(&url).post("/x").json_text("{\"a\": 1}".to_owned());
    let () = request.reply().await.unwrap();
    let sent = serving.await.unwrap();
    assert!(sent.contains("content-type: application/json\r\n"));
    assert!(sent.ends_with("\r\n\r\n{\"a\": 1}"), "{sent}");
}

#[tokio::test]
async fn a_refusal_keeps_what_the_server_said() {
    let body = r#"{"detail": "no key sk-hush-hush"}"#;
    let headers = "retry-after: 7\r\nx-request-id: r-1\r\n";
    let refusal = refusal(reply("429 Slow Down", headers, body)).await;
    assert_eq!(refusal.status(), 429);
    assert_eq!(refusal.retry_after(), Some(Duration::from_secs(7)));
    assert_eq!(refusal.header("x-request-id").as_deref(), Some("r-1"));
    assert_eq!(refusal.json().unwrap()["detail"], "no key ***");
    assert_eq!(refusal.excerpt(), r#"{"detail": "no key ***"}"#);
    assert!(!format!("{refusal} {refusal:?}").contains("hush"));
}

#[tokio::test]
async fn a_redirect_is_a_refusal_and_is_not_followed() {
    let moved = "location: https://x/login?token=1\r\n";
    let refusal = refusal(reply("302 Found", moved, "")).await;
    assert_eq!(refusal.status(), 302);
    assert_eq!(refusal.location().as_deref(), Some("https://x/login"));
    assert_eq!(refusal.json(), None);
}

#[tokio::test]
async fn a_secret_header_is_masked_too() {
    let (url, serving) = server(reply("401 No", "", "not open sesame")).await;
    let token = SecretString::from("open sesame");
    let request = client(&url).post("/x").secret_header("x-token", &token);
    let error = request.unwrap().reply::<Value>().await.unwrap_err();
    assert_eq!(error.to_string(), "refused with status 401: not ***");
    assert!(serving.await.unwrap().contains("x-token: open sesame\r\n"));
    let garbled = SecretString::from("open\nsesame");
    let request = client(&url).get("/x").secret_header("x-token", &garbled);
    assert!(request.is_err());
    assert!(client(&url).get("/x").header("x-key", "é").is_err());
}

#[tokio::test]
async fn a_reply_that_is_not_the_expected_json_is_shown_without_secrets() {
    let error = error(reply("200 OK", "", "<html>sk-hush-hush</html>")).await;
    assert!(error.may_be_done());
    let Error::NotJson {
        status, excerpt, ..
    } = error
    else {
        unreachable!("{error}")
    };
    assert_eq!((status, excerpt.as_str()), (200, "<html>***</html>"));
}

#[tokio::test]
async fn a_reply_is_read_up_to_the_limit() {
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\
        8\r\n\"123456\"\r\n1\r\n \r\n0\r\n\r\n";
    for answer in [reply("200 OK", "", "\"1234567\""), chunked.to_owned()] {
        for (limit, fits) in [(8, false), (9, true)] {
            let (url, _serving) = server(answer.clone()).await;
            let client = Client::builder(&url).max_reply_bytes(limit).build();
            let reply = client.unwrap().get("/x").reply::<String>().await;
            assert_eq!(reply.is_ok(), fits, "{limit}: {answer}");
            if let Err(error) = reply {
                assert!(matches!(
                    error,
                    Error::TooLong {
                        status: 200,
                        limit: 8
                    }
                ));
            }
        }
    }
}

#[tokio::test]
async fn a_reply_that_breaks_off_may_follow_a_request_that_was_carried_out() {
    for answer in ["", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{"] {
        let Error::NoReply(lost) = error(answer).await else {
            unreachable!("{answer}")
        };
        assert_eq!(lost.kind(), NoReplyKind::Interrupted);
        assert!(lost.may_be_done());
    }
}

#[tokio::test]
async fn a_server_that_is_silent_times_out() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let client = Client::builder(url).timeout(Duration::from_millis(20));
    let reply = client.build().unwrap().get("/x").reply::<Value>().await;
    let Error::NoReply(late) = reply.unwrap_err() else {
        unreachable!()
    };
    assert_eq!(late.kind(), NoReplyKind::Timeout);
    assert!(late.may_be_done());
}

#[tokio::test]
async fn an_unreachable_server_has_done_nothing_and_its_address_is_not_shown() {
    // Bound and released, so that no server listens there.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let client = client(&format!("http://{address}"));
    let own = client.with_new_connections().unwrap();
    for client in [client, own] {
        let error = client.get("/x").reply::<Value>().await.unwrap_err();
        assert!(!error.may_be_done());
        assert_eq!(error.status(), None);
        let shown = error.to_string();
        assert!(shown.contains("cannot be reached"), "{shown}");
        assert!(!shown.contains(&address), "{shown}");
        assert!(!format!("{error:?}").contains("hush"));
    }
}

#[test]
fn a_client_is_not_built_with_settings_that_cannot_work() {
    let with = |key: &str| Client::builder("http://x").bearer(key.into()).build();
    assert!(matches!(with(" "), Err(BuildError::EmptyKey)));
    assert!(matches!(with("hu\nsh"), Err(BuildError::UnprintableKey)));
    let builder = Client::builder("http://me:hush@x").bearer("hush".into());
    assert!(!format!("{builder:?}").contains("hush"));
    let error = builder.build().unwrap_err();
    assert!(matches!(error, BuildError::Address(_)));
    assert!(!format!("{error} {error:?}").contains("hush"));
    assert!(!format!("{:?}", with("hush")).contains("hush"));
}
