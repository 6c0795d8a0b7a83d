//! A server that takes runs, alone and together.

use serde_json::{Value, json};
use wiremock::{MockServer, Request, ResponseTemplate};

/// Acknowledges the runs of a request.
pub(crate) fn receipt(request: &Request) -> ResponseTemplate {
    let one = json!({"trace_id": "t", "ingest_status": "completed"});
    let reply = match runs_of(request) {
        Some(runs) => Value::from(vec![json!({"receipt": one}); runs.len()]),
        None => one,
    };
    ResponseTemplate::new(201).set_body_json(reply)
}

/// The runs that travel together in a request.
fn runs_of(request: &Request) -> Option<Vec<Value>> {
    let together = request.url.path().ends_with("/traces/batch");
    let body: Value = together.then(|| request.body_json().ok())??;
    body["traces"].as_array().cloned()
}

/// The runs that have arrived, each with its key, in order.
pub(crate) async fn arrived(server: &MockServer) -> Vec<(String, Value)> {
    let mut runs = Vec::new();
    for request in server.received_requests().await.unwrap() {
        if let Some(key) = request.headers.get("idempotency-key") {
            let run = request.body_json().unwrap();
            runs.push((key.to_str().unwrap().to_owned(), run));
        }
        for mut run in runs_of(&request).unwrap_or_default() {
            let key = run.as_object_mut().unwrap().remove("idempotency_key");
            runs.push((key.unwrap().as_str().unwrap().to_owned(), run));
        }
    }
    runs
}
