//! Many reviewed runs, imported at once.

use jiff::{SignedDuration, Timestamp};
use reflect_sdk::ReflectClient;
use serde_json::json;

use crate::demo::Demo;

const RUNS: i64 = 900;

/// Imports reviewed runs of the last four weeks: a fifth in the control arm, the others pass more and more
/// often, and a judge agrees with people on nine of ten.
pub(crate) async fn import(demo: &Demo) {
    let client = ReflectClient::builder()
        .project("airline")
        .http(&demo.url, &demo.key)
        .unwrap();
    let pieces: Vec<_> = (0..RUNS).map(piece).collect();
    for some in pieces.chunks(300) {
        let some = some
            .iter()
            .map(|piece| serde_json::from_value(piece.clone()).unwrap());
        client.admin().import_project(some.collect()).await.unwrap();
    }
}

fn piece(number: i64) -> serde_json::Value {
    let age = SignedDuration::from_hours(27 * 24) * i32::try_from(RUNS - number).unwrap()
        / i32::try_from(RUNS).unwrap();
    let at = (Timestamp::now() - age).to_string();
    let is_control = number % 5 == 0;
    // The same on every run of the test.
    let luck = number * 37 % 100;
    let passes = luck
        < if is_control {
            52
        } else {
            55 + 20 * number / RUNS
        };
    let verdict = |pass: bool| if pass { "pass" } else { "fail" };
    let overruled = (number % 3 == 1).then(|| {
        let agrees = number % 10 != 0;
        json!({"model": "gpt-5.4-mini", "result": verdict(passes == agrees)})
    });
    json!({
        "kind": "trace", "id": format!("run-{number}"), "task": format!("Change the flight of order {number}"),
        "trajectory": [{"role": "assistant", "content": "Done."}],
        "review_status": "reviewed", "ingest_status": "completed", "created_at": at,
        "arm": if is_control { "control" } else { "memories" },
        "review": {
            "id": format!("review-{number}"), "trace_id": format!("run-{number}"), "result": verdict(passes),
            "mode": "deferred", "reviewer": "human", "overruled": overruled
        },
        "judgement": {"alpha": 0.3, "created_at": at}
    })
}
