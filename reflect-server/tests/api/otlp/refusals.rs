//! What is refused, and how.

use std::io::Write as _;
use std::time::Duration;

use axum::body::Body;
use axum::http::StatusCode;
use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message as _;
use reflect_engine::store::Sqlite;
use reflect_server::Settings;
use reflect_types::Scope;
use serde_json::{Value, json};

use super::super::support::PROJECT;
use super::{JSON, PROTOBUF, Receiver, Reply, SETTLED, agent, call, decoded, traces};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A field with a length, in protobuf.
fn field(number: u32, content: &[u8]) -> Vec<u8> {
    use prost::encoding::{WireType, encode_key, encode_varint};

    let mut bytes = Vec::new();
    encode_key(number, WireType::LengthDelimited, &mut bytes);
    encode_varint(content.len() as u64, &mut bytes);
    bytes.extend(content);
    bytes
}

/// The code and the message of a `google.rpc.Status`.
fn status(reply: &Reply) -> (i64, String) {
    #[derive(Clone, PartialEq, prost::Message)]
    struct Status {
        #[prost(int32, tag = "1")]
        code: i32,
        #[prost(string, tag = "2")]
        message: String,
    }
    if reply.headers["content-type"] == PROTOBUF {
        let status = Status::decode(reply.body.clone()).unwrap();
        return (status.code.into(), status.message);
    }
    let json: Value = serde_json::from_slice(&reply.body).unwrap();
    (
        json["code"].as_i64().unwrap(),
        json["message"].as_str().unwrap().to_owned(),
    )
}

/// Headers and body; the status, the code and a part of the message of the reply.
type Case<'a> = (&'a [(&'a str, &'a str)], &'a [u8], u16, i64, &'a str);

#[tokio::test]
async fn refusals_have_the_form_and_the_encoding_of_the_protocol() {
    let receiver = Receiver::start().await;
    let reader = receiver.service.key(PROJECT, &[Scope::TraceRead]).await;
    let reader = format!("Bearer {reader}");
    let whole = decoded(&traces(&json!([agent(1), call(2, 1)]))).encode_to_vec();
    let truncated = &whole[..whole.len() - 3];
    let bomb = gzip(&vec![0; 20 * 1024 * 1024]);
    // A request of a megabyte that would be hundreds of them in memory.
    let spans = b"\x12\x00".repeat(500_000);
    let many = field(1, &field(2, &spans));
    let deep = "{\"arrayValue\":{\"values\":[".repeat(100_000);
    let deep = format!(
        "{{\"resourceSpans\":[{{\"resource\":{{\"attributes\":[{{\"key\":\"a\",\"value\":{deep}"
    );
    let mut value = Vec::new();
    for _ in 0..1_000 {
        value = field(5, &field(1, &value));
    }
    let pair = [field(1, b"a"), field(2, &value)].concat();
    let deep_protobuf = field(1, &field(1, &field(1, &pair)));
    let cases: [Case<'_>; 10] = [
        (
            &[("content-type", PROTOBUF), ("authorization", "Bearer no")],
            &whole,
            401,
            16,
            "key",
        ),
        (
            &[("content-type", PROTOBUF), ("authorization", &reader)],
            &whole,
            403,
            7,
            "trace:write",
        ),
        (
            &[("content-type", "text/plain")],
            &whole,
            415,
            3,
            "application/x-protobuf",
        ),
        (
            &[("content-type", PROTOBUF), ("content-encoding", "zstd")],
            &whole,
            415,
            3,
            "gzip",
        ),
        (&[("content-type", PROTOBUF)], truncated, 400, 3, "protobuf"),
        (&[("content-type", JSON)], &whole, 400, 3, "JSON"),
        (
            &[("content-type", "application/json; charset=utf-8")],
            deep.as_bytes(),
            400,
            3,
            "recursion",
        ),
        (
            &[("content-type", PROTOBUF)],
            &deep_protobuf,
            400,
            3,
            "recursion",
        ),
        (
            &[("content-type", PROTOBUF), ("content-encoding", "gzip")],
            &bomb,
            413,
            8,
            "limit",
        ),
        (
            &[("content-type", PROTOBUF)],
            &many,
            413,
            8,
            "too many spans",
        ),
    ];
    for (headers, body, expected, code, part) in cases {
        let reply = receiver.post("/v1/traces", headers, body.to_vec()).await;
        let (found, message) = status(&reply);
        assert_eq!(
            (reply.status.as_u16(), found),
            (expected, code),
            "{message}"
        );
        assert!(message.contains(part), "{message}");
        assert!(message.len() < 400, "{message}");
        let asked = headers[0].1;
        if asked == PROTOBUF {
            assert_eq!(reply.headers["content-type"], PROTOBUF);
        }
    }
    let zipped = [("content-type", PROTOBUF), ("content-encoding", "gzip")];
    let reply = receiver.post("/v1/traces", &zipped, gzip(&whole)).await;
    assert_eq!(reply.status, StatusCode::OK);
    assert_eq!(receiver.runs(SETTLED, 1).await.len(), 1);
}

#[tokio::test]
async fn refusals_before_the_handler_have_that_form_too() {
    let full = Settings {
        max_in_flight: 0,
        ..Settings::default()
    };
    let no_room = Settings {
        body_limit: 0,
        ..Settings::default()
    };
    let hurried = Settings {
        request_timeout: Duration::from_millis(20),
        ..Settings::default()
    };
    for (settings, expected, code) in [(full, 503, 14), (no_room, 503, 14), (hurried, 504, 4)] {
        let receiver = Receiver::with(Sqlite::in_memory().unwrap(), settings).await;
        for path in ["/v1/traces", "/v1/logs"] {
            for encoding in [PROTOBUF, JSON] {
                // A byte, and then nothing more for ever.
                let first = futures_util::stream::iter([Ok::<_, std::io::Error>(b"{".to_vec())]);
                let never = futures_util::stream::pending();
                let body = Body::from_stream(futures_util::StreamExt::chain(first, never));
                // The server does not wait for the rest of such a body.
                let headers = [("content-type", encoding), ("expect", "100-continue")];
                let reply = receiver.post(path, &headers, body).await;
                assert_eq!(reply.headers["content-type"], encoding);
                assert_eq!((reply.status.as_u16(), status(&reply).0), (expected, code));
                assert!(reply.headers.contains_key("x-request-id"));
                assert_eq!(reply.headers.contains_key("retry-after"), expected == 503);
            }
        }
    }
}

#[tokio::test]
async fn another_method_is_refused_in_that_form() {
    let receiver = Receiver::start().await;
    let request = axum::http::Request::get("/v1/traces").body(Body::empty());
    let answer = receiver.service.send(request.unwrap()).await;
    assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(answer.body["code"], 12, "{answer:?}");
}
