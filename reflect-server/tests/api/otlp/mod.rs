//! OTLP over HTTP: spans become runs.

mod refusals;
mod runs;

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode};
use jiff::Timestamp;
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
        Self::with(store, Settings::default()).await
    }

    async fn with(store: Sqlite, settings: Settings) -> Self {
        let clock = Manual::at(Timestamp::UNIX_EPOCH);
        let engine = Engine::builder()
            .store(Arc::new(store))
            .clock(Arc::new(clock.clone()))
            .start()
            .unwrap();
        let service = Service::of(engine, settings).await;
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
        let request = traces(&spans);
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
        line.unwrap_or_default().trim().to_owned()
    }
}

/// A request in the JSON of the protocol.
fn traces(spans: &Value) -> Value {
    json!({"resourceSpans": [{
        "resource": {"attributes": attributes(&json!({"service.name": "desk"}))},
        "scopeSpans": [{"spans": spans}],
    }]})
}

fn decoded(request: &Value) -> ExportTraceServiceRequest {
    serde_json::from_value(request.clone()).unwrap()
}

fn attributes(values: &Value) -> Value {
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

fn span(id: u64, parent: Option<u64>, values: &Value) -> Value {
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
        &json!({
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
        &json!({
            "gen_ai.operation.name": "invoke_agent", "reflect.memory_ids": ["m-1"], "session.id": "s-1",
        }),
    )
}

const SETTLED: Duration = Duration::from_secs(5);
const QUIET: Duration = Duration::from_secs(300);
const ALMOST_QUIET: Duration = Duration::from_secs(299);
