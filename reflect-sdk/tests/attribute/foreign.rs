//! Functions that other languages may call, which no panic may leave.

use std::process::Command;

use reflect_sdk::{ReflectClient, TraceContext, reflect_trace};
use serde_json::{Value, json};
use wiremock::matchers::method;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::script::builder;

const URL: &str = "REFLECT_TEST_URL";

#[expect(improper_ctypes_definitions, reason = "no foreign code calls it")]
#[reflect_trace(client = client)]
extern "C" fn fails(ctx: &TraceContext, question: u32, client: &ReflectClient) -> String {
    panic!("no answer to {}", ctx.task())
}

#[test]
#[ignore = "a part of another test"]
fn a_panic_that_aborts() {
    let client = builder().http(std::env::var(URL).unwrap(), "key").unwrap();
    fails(7, &client);
}

#[tokio::test]
async fn a_panic_that_ends_the_process_is_recorded_before() {
    let server = MockServer::start().await;
    let receipt = json!({"trace_id": "t", "ingest_status": "completed"});
    Mock::given(method("POST"))
        .respond_with(ResponseTemplate::new(201).set_body_json(receipt))
        .mount(&server)
        .await;
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture"])
        .arg("foreign::a_panic_that_aborts")
        .env(URL, server.uri())
        .output()
        .unwrap();
    assert!(!child.status.success());
    let requests = server.received_requests().await.unwrap();
    let recorded = requests
        .iter()
        .filter(|request| request.headers.contains_key("idempotency-key"))
        .map(|request| request.body_json::<Value>().unwrap());
    let recorded: Vec<_> = recorded.collect();
    let said = String::from_utf8_lossy(&child.stderr);
    assert_eq!(recorded.len(), 1, "{said}");
    assert_eq!(recorded[0]["task"], "7");
    assert_eq!(recorded[0]["review"]["feedback_text"], "no answer to 7");
}
