//! OTLP over HTTP: spans become runs.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode};
use flate2::Compression;
use flate2::write::GzEncoder;
use jiff::Timestamp;
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use prost::Message as _;
use reflect_engine::Engine;
use reflect_engine::clock::Manual;
use reflect_engine::store::Sqlite;
use reflect_server::Settings;
use reflect_types::Scope;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::support::{PROJECT, Service, at};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PROTOBUF: &str = "application/x-protobuf";
const JSON: &str = "application/json";

/// A service whose clock is moved by hand.
struct Receiver {
    service: Service,
    clock: Manual,
    /// A key of the project that may only write traces.
    key: String,
}

struct Reply {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

impl Receiver {
    async fn start() -> Self {
        Self::on(Sqlite::in_memory().unwrap()).await
    }

    async fn on(store: Sqlite) -> Self {
        let clock = Manual::at(Timestamp::UNIX_EPOCH);
        let engine = Engine::builder()
            .store(Arc::new(store))
            .clock(Arc::new(clock.clone()))
            .start()
            .unwrap();
        let service = Service::of(engine, Settings::default()).await;
        let key = service.key(PROJECT, &[Scope::TraceWrite]).await;
        Self {
            service,
            clock,
            key,
        }
    }

    async fn post(&self, path: &str, headers: &[(&str, &str)], body: impl Into<Body>) -> Reply {
        let mut request = Request::post(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if !headers.iter().any(|(name, _)| *name == "authorization") {
            request = request.header("authorization", format!("Bearer {}", self.key));
        }
        let request = request.body(body.into()).unwrap();
        let response = self.service.router.clone().oneshot(request).await.unwrap();
        Reply {
            status: response.status(),
            headers: response.headers().clone(),
            body: to_bytes(response.into_body(), usize::MAX).await.unwrap(),
        }
    }

    /// Sends spans and returns the number of rejected ones, with the reason.
    async fn send(&self, encoding: &str, spans: Value) -> (i64, String) {
        let request = traces(spans);
        let body = match encoding {
            PROTOBUF => decoded(&request).encode_to_vec(),
            _ => request.to_string().into_bytes(),
        };
        let reply = self
            .post("/v1/traces", &[("content-type", encoding)], body)
            .await;
        assert_eq!(reply.status, StatusCode::OK, "{:?}", reply.body);
        assert_eq!(reply.headers["content-type"], encoding);
        let response = match encoding {
            PROTOBUF => ExportTraceServiceResponse::decode(reply.body).unwrap(),
            _ => serde_json::from_slice(&reply.body).unwrap(),
        };
        let partial = response.partial_success.unwrap_or_default();
        (partial.rejected_spans, partial.error_message)
    }

    /// Moves the clock, and returns the stored runs once there are so many.
    async fn runs(&self, after: Duration, count: usize) -> Vec<Value> {
        self.clock.advance(after);
        let stored = async {
            loop {
                let traces = self.service.get(&at("/traces")).await.body;
                if traces
                    .as_array()
                    .is_some_and(|traces| traces.len() >= count)
                {
                    return traces.as_array().unwrap().clone();
                }
                tokio::task::yield_now().await;
            }
        };
        let stored = tokio::time::timeout(Duration::from_secs(30), stored).await;
        stored.unwrap()
    }

    async fn metric(&self, name: &str) -> String {
        // Readings are kept for a second.
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(2)).await;
        tokio::time::resume();
        let text = self.service.get("/metrics").await.body;
        let text = text.as_str().unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("{name} is not in {text}"))
            .trim()
            .to_owned()
    }
}

/// A request in the JSON of the protocol.
fn traces(spans: Value) -> Value {
    json!({"resourceSpans": [{
        "resource": {"attributes": attributes(json!({"service.name": "desk"}))},
        "scopeSpans": [{"spans": spans}],
    }]})
}

fn decoded(request: &Value) -> ExportTraceServiceRequest {
    serde_json::from_value(request.clone()).unwrap()
}

fn attributes(values: Value) -> Value {
    let pairs = values.as_object().unwrap().iter().map(|(key, value)| {
        let value = match value {
            Value::Number(number) => json!({"intValue": number.to_string()}),
            Value::Array(items) => {
                let items: Vec<Value> = items
                    .iter()
                    .map(|item| json!({"stringValue": item}))
                    .collect();
                json!({"arrayValue": {"values": items}})
            }
            text => json!({"stringValue": text}),
        };
        json!({"key": key, "value": value})
    });
    pairs.collect()
}

fn span(id: u64, parent: Option<u64>, values: Value) -> Value {
    json!({
        "traceId": TRACE, "spanId": format!("{id:016x}"), "name": format!("span {id}"), "kind": 1,
        "parentSpanId": parent.map_or_else(String::new, |id| format!("{id:016x}")),
        "startTimeUnixNano": (1_000 + id).to_string(), "endTimeUnixNano": "2000",
        "attributes": attributes(values), "status": {},
    })
}

fn says(role: &str, text: &str) -> String {
    json!([{"role": role, "parts": [{"type": "text", "content": text}]}]).to_string()
}

fn call(id: u64, parent: u64) -> Value {
    span(
        id,
        Some(parent),
        json!({
            "gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-5.4-mini",
            "gen_ai.usage.input_tokens": 11,
            "gen_ai.input.messages": says("user", "Refund order 7"),
            "gen_ai.output.messages": says("assistant", "Refunded 20 EUR"),
        }),
    )
}

fn agent(id: u64) -> Value {
    span(
        id,
        None,
        json!({
            "gen_ai.operation.name": "invoke_agent", "reflect.memory_ids": ["m-1"], "session.id": "s-1",
        }),
    )
}

const SETTLED: Duration = Duration::from_secs(5);
const QUIET: Duration = Duration::from_secs(300);

#[tokio::test]
async fn spans_of_several_requests_in_any_order_become_one_run() {
    for encoding in [PROTOBUF, JSON] {
        let receiver = Receiver::start().await;
        let parts = [
            agent(1),
            span(9, Some(1), json!({"http.method": "GET"})),
            call(2, 1),
        ];
        for part in parts {
            assert_eq!(
                receiver.send(encoding, json!([part])).await,
                (0, String::new())
            );
        }
        let runs = receiver.runs(SETTLED, 1).await;
        let run = &runs[0];
        assert_eq!(run["task"], "Refund order 7");
        assert_eq!(run["final_response"], "Refunded 20 EUR");
        assert_eq!(run["model"], "gpt-5.4-mini");
        assert_eq!(run["retrieved_memory_ids"], json!(["m-1"]));
        assert_eq!(run["review_status"], "pending");
        assert_eq!(
            run["metadata"],
            json!({
                "session_id": "s-1", "service": "desk", "input_tokens": 11,
                "otel_trace_id": TRACE, "otel_span_id": format!("{:016x}", 1),
            })
        );
    }
}

#[tokio::test]
async fn a_trace_without_its_root_is_recorded_after_a_quiet_time() {
    let receiver = Receiver::start().await;
    receiver.send(PROTOBUF, json!([call(2, 1)])).await;
    receiver.clock.advance(QUIET - Duration::from_secs(1));
    receiver.send(PROTOBUF, json!([call(3, 1)])).await;
    receiver.clock.advance(QUIET - Duration::from_secs(1));
    assert_eq!(receiver.service.get(&at("/traces")).await.body, json!([]));
    let runs = receiver.runs(Duration::from_secs(1), 1).await;
    assert_eq!(runs.len(), 1);
}

#[tokio::test]
async fn what_comes_again_is_not_doubled_and_what_comes_too_late_is_rejected() {
    let receiver = Receiver::start().await;
    let all = || json!([call(2, 1), agent(1)]);
    receiver.send(PROTOBUF, all()).await;
    assert_eq!(receiver.send(JSON, all()).await.0, 0);
    receiver.runs(SETTLED, 1).await;
    assert_eq!(receiver.send(PROTOBUF, all()).await.0, 0);
    let (rejected, why) = receiver
        .send(PROTOBUF, json!([call(3, 1), call(2, 1)]))
        .await;
    assert_eq!(rejected, 1);
    assert!(why.contains("after their trace was recorded"), "{why}");
    receiver.clock.advance(QUIET);
    assert_eq!(
        receiver
            .metric("reflect_otlp_spans_total{outcome=\"late\"}")
            .await,
        "1"
    );
    assert_eq!(
        receiver
            .metric("reflect_otlp_runs_total{outcome=\"recorded\"}")
            .await,
        "1"
    );
    assert_eq!(receiver.runs(QUIET, 1).await.len(), 1);
}

#[tokio::test]
async fn spans_that_are_no_agents_are_counted_and_dropped() {
    let receiver = Receiver::start().await;
    receiver
        .send(
            PROTOBUF,
            json!([span(1, None, json!({"http.method": "GET"}))]),
        )
        .await;
    receiver.clock.advance(SETTLED);
    let counted = async {
        while receiver
            .metric("reflect_otlp_spans_total{outcome=\"unused\"}")
            .await
            != "1"
        {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), counted)
        .await
        .unwrap();
    assert_eq!(receiver.service.get(&at("/traces")).await.body, json!([]));
}

#[tokio::test]
async fn spans_survive_the_end_of_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("reflect.db");
    let first = Receiver::on(Sqlite::open(&file).unwrap()).await;
    first.send(PROTOBUF, json!([call(2, 1)])).await;
    first.service.app.engine().shutdown().await.unwrap();
    let second = Receiver::on(Sqlite::open(&file).unwrap()).await;
    second.send(PROTOBUF, json!([agent(1), call(3, 1)])).await;
    // Of another key: each has its own trace.
    second.runs(SETTLED, 1).await;
    let runs = second.runs(QUIET, 2).await;
    assert_eq!(runs.len(), 2);
}

#[tokio::test]
async fn events_of_older_conventions_come_as_logs() {
    let receiver = Receiver::start().await;
    let log = |name: &str, time: u64, body: Value| {
        json!({"timeUnixNano": time.to_string(), "eventName": name, "traceId": TRACE,
            "spanId": format!("{:016x}", 2), "severityText": "", "attributes": [],
            "body": {"kvlistValue": {"values": attributes(body)}}})
    };
    let logs = json!({"resourceLogs": [{"scopeLogs": [{"logRecords": [
        log("gen_ai.user.message", 1, json!({"content": "Refund order 7"})),
        log("gen_ai.choice", 2, json!({"content": "Refunded 20 EUR"})),
        log("another.event", 3, json!({"content": "passed over"})),
    ]}]}]});
    let body: ExportLogsServiceRequest = serde_json::from_value(logs).unwrap();
    for _ in 0..2 {
        let headers = [("content-type", PROTOBUF)];
        let reply = receiver
            .post("/v1/logs", &headers, body.encode_to_vec())
            .await;
        assert_eq!((reply.status, reply.body.len()), (StatusCode::OK, 0));
    }
    let spans = json!([
        agent(1),
        span(2, Some(1), json!({"gen_ai.operation.name": "chat"}))
    ]);
    receiver.send(PROTOBUF, spans).await;
    let runs = receiver.runs(SETTLED, 1).await;
    assert_eq!(
        runs[0]["trajectory"],
        json!([
            {"role": "user", "content": "Refund order 7"},
            {"role": "assistant", "content": "Refunded 20 EUR"},
        ])
    );
}

#[tokio::test]
async fn spans_without_valid_ids_are_rejected_and_the_others_kept() {
    let receiver = Receiver::start().await;
    let mut spans = json!([call(2, 1), call(3, 1), call(4, 1), agent(1)]);
    spans[0]["traceId"] = json!("");
    spans[1]["spanId"] = json!("0000000000000000");
    spans[2]["spanId"] = json!("0badcafe");
    let (rejected, why) = receiver.send(PROTOBUF, spans).await;
    assert_eq!(
        (rejected, why.as_str()),
        (3, "3 have no valid trace or span id")
    );
    let empty = receiver
        .post("/v1/traces", &[("content-type", JSON)], "{}")
        .await;
    assert_eq!(
        (empty.status, &empty.body[..]),
        (StatusCode::OK, &b"{}"[..])
    );
}

#[tokio::test]
async fn the_project_is_that_of_the_resource_the_header_or_the_key() {
    let receiver = Receiver::start().await;
    let master = format!("Bearer {}", receiver.service.master);
    let mut request = traces(json!([call(2, 1), agent(1)]));
    let mut send = async |headers: &[(&str, &str)], named: Option<&str>| {
        let named = named.map_or_else(|| json!({}), |name| json!({"reflect.project": name}));
        request["resourceSpans"][0]["resource"]["attributes"] = attributes(named);
        let mut headers = headers.to_vec();
        headers.push(("content-type", JSON));
        let reply = receiver
            .post("/v1/traces", &headers, request.to_string())
            .await;
        reply.status
    };
    let by_master = ("authorization", master.as_str());
    assert_eq!(
        send(&[by_master], Some("of resource")).await,
        StatusCode::OK
    );
    assert_eq!(
        send(&[by_master, ("x-project-id", "of header")], None).await,
        StatusCode::OK
    );
    assert_eq!(send(&[by_master], None).await, StatusCode::OK);
    assert_eq!(send(&[], Some("of resource")).await, StatusCode::FORBIDDEN);
    assert_eq!(
        send(&[("x-project-id", "other")], None).await,
        StatusCode::FORBIDDEN
    );
    assert_eq!(send(&[], None).await, StatusCode::OK);
    receiver.runs(SETTLED, 1).await;
    for project in ["of%20resource", "of%20header", "default"] {
        let path = format!("/v1/projects/{project}/traces");
        while receiver.service.get(&path).await.body == json!([]) {
            tokio::task::yield_now().await;
        }
    }
}

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

#[tokio::test]
async fn refusals_have_the_form_and_the_encoding_of_the_protocol() {
    let receiver = Receiver::start().await;
    let reader = receiver.service.key(PROJECT, &[Scope::TraceRead]).await;
    let reader = format!("Bearer {reader}");
    let whole = decoded(&traces(json!([agent(1), call(2, 1)]))).encode_to_vec();
    let truncated = &whole[..whole.len() - 3];
    let bomb = gzip(&vec![0; 20 * 1024 * 1024]);
    // A request of a megabyte that would be hundreds of them in memory.
    let spans = b"\x12\x00".repeat(500_000);
    let many = field(1, &field(2, &spans));
    let deep = "{\"arrayValue\":{\"values\":[".repeat(100_000);
    let deep = format!(
        "{{\"resourceSpans\":[{{\"resource\":{{\"attributes\":[{{\"key\":\"a\",\"value\":{deep}"
    );
    let cases: [(&[(&str, &str)], &[u8], u16, i64, &str); 9] = [
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
