//! Archives made to break what reads them.

use serde_json::{Value, json};

use super::bank::Bank;
use super::support::KEY;

/// A trace as an archive has it, with some fields changed.
fn trace(extra: &Value) -> Value {
    let mut trace = json!({
        "kind": "trace", "id": "bad", "task": "t", "trajectory": [], "final_response": "",
        "review_status": "pending", "ingest_status": "completed", "receipt": "completed",
    });
    for (name, value) in extra.as_object().unwrap() {
        trace[name] = value.clone();
    }
    trace
}

#[test]
fn an_archive_that_cannot_be_read_back_is_refused() {
    let bank = Bank::open(&[]);
    bank.good(1);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let url = format!("{}/v1/projects/support/archive", bank.server.url);
    // The client would refuse them, so they are sent without it.
    let import = |extra: &Value| {
        let body = json!({"pieces": [trace(extra)]}).to_string();
        let request = reqwest::Client::new()
            .post(&url)
            .bearer_auth(KEY)
            .body(body);
        let answer = runtime.block_on(request.send()).unwrap();
        answer.status().as_u16()
    };
    for extra in [
        json!({"withdrawn_verdict": {"model": "m", "result": "partial"}}),
        json!({"withdrawn_verdict": {"model": "", "result": "pass"}}),
        json!({"review_status": "reviewed", "review": {
            "id": "r", "trace_id": "bad", "result": "pass",
            "overruled": {"model": "m", "result": "partial"}}}),
        json!({"review_status": "tomorrow"}),
        json!({"created_at": "tomorrow"}),
    ] {
        assert_eq!(import(&extra), 422, "{extra}");
    }
    assert_eq!(bank.owner().list_traces().call().unwrap().len(), 1);
    assert_eq!(import(&json!({})), 200);
    assert_eq!(bank.owner().list_traces().call().unwrap().len(), 2);
}
