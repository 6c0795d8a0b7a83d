//! `extern "C"` functions, where a panic ends the process.

use std::process::Command;

use reflect_sdk::{ReflectClient, TraceContext, reflect_trace};
use serde_json::{Value, json};
use wiremock::matchers::{header_exists, method};
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
    // The first attempt fails, so that a run that is only queued does not arrive by chance.
    Mock::given(header_exists("idempotency-key"))
        .respond_with(ResponseTemplate::new(503))
        .up_to_n_times(1)
        .mount(&server)
        .await;
    let receipt = json!({"trace_id": "t", "ingest_status": "completed"});
    Mock::given(method("POST"))
        .respond_with(ResponseTemplate::new(201).set_body_json(receipt))
        .mount(&server)
        .await;
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture"])
        .arg("foreign::a_panic_that_aborts")
        .env(URL, server.uri())
        .env("RUST_BACKTRACE", "0")
        .output()
        .unwrap();
    assert!(!child.status.success());
    let requests = server.received_requests().await.unwrap();
    let recorded = requests
        .iter()
        .filter(|request| request.headers.contains_key("idempotency-key"));
    let recorded: Vec<Value> = recorded.map(|run| run.body_json().unwrap()).collect();
    let said = String::from_utf8_lossy(&child.stderr);
    assert_eq!(recorded.len(), 2, "{said}");
    assert_eq!(recorded[1]["task"], "7");
    assert_eq!(recorded[1]["review"]["feedback_text"], "no answer to 7");
}
