//! The reviewer and the key of a review.

use axum::http::Method;
use reflect_types::Scope;
use serde_json::{Value, json};

use super::support::{PROJECT, Service, at};

/// A key that may record and review, and its id.
async fn reviewer_key(service: &Service) -> (String, Value) {
    let scopes = [Scope::ReviewWrite, Scope::TraceWrite, Scope::TraceRead];
    let key = service.key(PROJECT, &scopes).await;
    let keys = service.get(&at("/api-keys")).await.body;
    (key, keys[0]["id"].clone())
}

#[tokio::test]
async fn a_review_names_the_key_of_its_caller_and_no_other() {
    let service = Service::start().await;
    let trace = service.trace("t").await;
    let (key, key_id) = reviewer_key(&service).await;
    let path = at(&format!("/traces/{trace}/review"));
    let review = json!({"result": "fail", "reviewer": {"model": "m"}, "key_id": "another"});
    let judged = service
        .call_as(Some(&key), Method::POST, &path, Some(review))
        .await;
    assert_eq!(judged.body["review"]["reviewer"], json!({"model": "m"}));
    assert_eq!(judged.body["review"]["key_id"], key_id);

    let person = json!({"result": "pass"});
    let changed = service
        .call_as(Some(&key), Method::PUT, &path, Some(person))
        .await;
    let review = &changed.body["review"];
    assert_eq!(
        (&review["reviewer"], &review["key_id"]),
        (&json!("human"), &key_id)
    );
    assert_eq!(review["overruled"], json!({"model": "m", "result": "fail"}));
}

#[tokio::test]
async fn a_review_with_its_trace_names_the_key_too() {
    let service = Service::start().await;
    service.trace("t").await;
    let (key, key_id) = reviewer_key(&service).await;
    let run = json!({"task": "t", "trajectory": "done", "review": {"result": "pass"}});
    let stored = service
        .call_as(Some(&key), Method::POST, &at("/traces"), Some(run))
        .await;
    let id = stored.body["trace_id"].as_str().unwrap();
    let trace = service.get(&at(&format!("/traces/{id}"))).await.body;
    assert_eq!(trace["review"]["key_id"], key_id);
}

#[tokio::test]
async fn an_unknown_reviewer_is_refused() {
    let service = Service::start().await;
    let trace = service.trace("t").await;
    for reviewer in [json!("committee"), json!({"model": ""}), json!(7)] {
        let review = json!({"result": "pass", "reviewer": reviewer});
        let path = at(&format!("/traces/{trace}/review"));
        let refused = service.post(&path, review).await;
        assert_eq!(refused.status, 422, "{refused:?}");
        assert_eq!(refused.body["field"], "reviewer");
    }
}
