//! Archives made to break what reads them.

use reflect_sdk::types::Piece;
use serde_json::json;

use super::bank::Bank;

fn trace(id: &str, extra: &serde_json::Value) -> Piece {
    let mut trace = json!({
        "kind": "trace", "id": id, "task": "t", "trajectory": [], "final_response": "",
        "review_status": "pending", "ingest_status": "completed", "receipt": "completed",
    });
    for (name, value) in extra.as_object().unwrap() {
        trace[name] = value.clone();
    }
    serde_json::from_value(trace).unwrap()
}

#[test]
fn an_archive_that_cannot_be_read_back_is_refused() {
    let bank = Bank::open(&[]);
    bank.good(1);
    let admin = bank.owner().admin();
    for extra in [
        json!({"withdrawn_verdict": {"model": "m", "result": "partial"}}),
        json!({"withdrawn_verdict": {"model": "", "result": "pass"}}),
        json!({"review_status": "reviewed", "review": {
            "id": "r", "trace_id": "bad", "result": "pass",
            "overruled": {"model": "m", "result": "partial"}}}),
        json!({"review_status": "tomorrow"}),
    ] {
        let refused = admin.import_project(vec![trace("bad", &extra)]).call();
        assert_eq!(refused.unwrap_err().status(), Some(422), "{extra}");
    }
    assert_eq!(bank.owner().list_traces().call().unwrap().len(), 1);
}
