//! What spans become.

use std::time::Duration;

use axum::http::StatusCode;
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use prost::Message as _;
use reflect_engine::store::Sqlite;
use serde_json::{Value, json};

use super::super::support::at;
use super::{
    ALMOST_QUIET, JSON, PROTOBUF, QUIET, Receiver, SETTLED, TRACE, agent, attributes, call, span,
    traces,
};

#[tokio::test]
async fn spans_of_several_requests_in_any_order_become_one_run() {
    for encoding in [PROTOBUF, JSON] {
        let receiver = Receiver::start().await;
        let parts = [
            agent(1),
            span(9, Some(1), &json!({"http.method": "GET"})),
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
        assert_eq!(run["session_id"], "s-1");
        assert_eq!(run["usage"]["input_tokens"], 11);
        assert_eq!(
            run["metadata"],
            json!({
                "service": "desk",
                "otel_trace_id": TRACE, "otel_span_id": format!("{:016x}", 1),
            })
        );
    }
}

#[tokio::test]
async fn a_trace_without_its_root_is_recorded_after_a_quiet_time() {
    let receiver = Receiver::start().await;
    receiver.send(PROTOBUF, json!([call(2, 1)])).await;
    receiver.clock.advance(ALMOST_QUIET);
    receiver.send(PROTOBUF, json!([call(3, 1)])).await;
    receiver.clock.advance(ALMOST_QUIET);
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
            json!([span(1, None, &json!({"http.method": "GET"}))]),
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
            "body": {"kvlistValue": {"values": attributes(&body)}}})
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
        span(2, Some(1), &json!({"gen_ai.operation.name": "chat"}))
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
    let mut request = traces(&json!([call(2, 1), agent(1)]));
    let mut send = async |headers: &[(&str, &str)], named: Option<&str>| {
        let named = named.map_or_else(|| json!({}), |name| json!({"reflect.project": name}));
        request["resourceSpans"][0]["resource"]["attributes"] = attributes(&named);
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
