//! What a key may teach, and how it is taken back.

use axum::http::Method;
use reflect_server::Settings;
use reflect_types::Scope;
use serde_json::{Value, json};

use super::support::{Answer, PROJECT, Service, at};

async fn store(service: &Service, key: &str, run: Value) -> Answer {
    let path = at("/traces");
    service
        .call_as(Some(key), Method::POST, &path, Some(run))
        .await
}

fn run(review: Option<Value>, given: &[&str]) -> Value {
    let mut run =
        json!({"task": "Refund order 7", "trajectory": "Done.", "retrieved_memory_ids": given});
    if let Some(review) = review {
        run["review"] = review;
    }
    run
}

/// A reflection of the caller's own: such a review becomes a memory at once.
fn authored(result: &str) -> Value {
    json!({"result": result, "alpha": 1.0, "reflection": {"summary": "Refunds", "guidance": "Always refund."}})
}

async fn memories(service: &Service) -> Value {
    service.get(&at("/memories")).await.body
}

#[tokio::test]
async fn a_review_with_its_trace_needs_the_scope_of_reviews() {
    let service = Service::start().await;
    let recorder = service.key(PROJECT, &[Scope::TraceWrite]).await;
    let inline = run(Some(json!({"result": "fail"})), &[]);
    let refused = store(&service, &recorder, inline.clone()).await;
    assert_eq!(
        (refused.status.as_u16(), refused.code()),
        (403, "forbidden")
    );
    assert!(refused.body["detail"].to_string().contains("review:write"));
    assert_eq!(store(&service, &recorder, run(None, &[])).await.status, 201);
    let reviewer = [Scope::TraceWrite, Scope::ReviewWrite];
    let reviewer = service.key(PROJECT, &reviewer).await;
    assert_eq!(store(&service, &reviewer, inline.clone()).await.status, 202);

    let lenient = Service::with(Settings {
        lenient_inline_reviews: true,
        ..Settings::default()
    })
    .await;
    let recorder = lenient.key(PROJECT, &[Scope::TraceWrite]).await;
    assert_eq!(store(&lenient, &recorder, inline).await.status, 202);
}

#[tokio::test]
async fn an_author_of_memories_moves_no_others_without_the_scope_of_reviews() {
    let service = Service::start().await;
    let author = service.key(PROJECT, &[Scope::MemoryWrite]).await;
    let stored = store(&service, &author, run(Some(authored("pass")), &[])).await;
    assert_eq!(stored.status, 201);
    let moving = run(Some(authored("fail")), &["m"]);
    assert_eq!(store(&service, &author, moving).await.status, 403);
}

#[tokio::test]
async fn a_key_deletes_its_own_traces_and_an_administrator_all() {
    let service = Service::start().await;
    let others = service.trace("t").await;
    let recorder = service.key(PROJECT, &[Scope::TraceWrite]).await;
    let own = store(&service, &recorder, run(None, &[])).await.body;
    let delete = async |key: &str, id: &str| {
        let path = at("/traces/delete");
        let ids = json!({"trace_ids": [id]});
        service
            .call_as(Some(key), Method::POST, &path, Some(ids))
            .await
    };
    let refused = delete(&recorder, &others).await;
    assert_eq!(
        (refused.status.as_u16(), refused.code()),
        (403, "forbidden")
    );
    assert!(refused.body["detail"].to_string().contains("trace:admin"));
    let own = own["trace_id"].as_str().unwrap();
    assert_eq!(delete(&recorder, own).await.body["deleted"], 1);
    let admin = service.key(PROJECT, &[Scope::TraceAdmin]).await;
    assert_eq!(delete(&admin, &others).await.body["deleted"], 1);
}

#[tokio::test]
async fn what_a_key_has_taught_is_taken_back_after_it_has_covered_its_tracks() {
    let service = Service::start().await;
    let good = run(Some(authored("pass")), &[]);
    let master = service.master.clone();
    assert_eq!(store(&service, &master, good).await.status, 201);
    let before = memories(&service).await;
    let good = before[0]["id"].as_str().unwrap();
    let scopes = [Scope::TraceWrite, Scope::ReviewWrite, Scope::MemoryWrite];
    let thief = service.key(PROJECT, &scopes).await;
    let poison = run(Some(authored("fail")), &[good]);
    let stored = store(&service, &thief, poison).await.body;
    let delete = json!({"trace_ids": [stored["trace_id"]]});
    let path = at("/traces/delete");
    let deleted = service
        .call_as(Some(&thief), Method::POST, &path, Some(delete))
        .await;
    assert_eq!(deleted.body["deleted"], 1);
    let attacked = memories(&service).await;
    assert_eq!(attacked.as_array().unwrap().len(), 2);
    assert_eq!(attacked[1]["q_value"], 0.0);
    let thief_id = &attacked[0]["key_id"];
    assert_eq!(&attacked[1]["events"][0]["key_id"], thief_id);

    let mut undo = json!({"key_id": thief_id, "dry_run": true});
    let plan = service.post(&at("/undo"), undo.clone()).await.body;
    assert_eq!(plan["moved"][0]["after"], before[0]["q_value"]);
    assert_eq!(memories(&service).await, attacked);
    undo["dry_run"] = json!(false);
    let done = service.post(&at("/undo"), undo).await.body;
    assert_eq!(done["removed"], plan["removed"]);
    assert_eq!(memories(&service).await, before);
    let nothing = service.post(&at("/undo"), json!({})).await;
    assert_eq!(
        (nothing.status.as_u16(), nothing.code()),
        (422, "invalid_field")
    );
    let bad = json!({"since": "yesterday"});
    assert_eq!(service.post(&at("/undo"), bad).await.status, 422);
    // A condition that is not understood would undo more than was meant.
    for misspelt in ["kye_id", "dryrun"] {
        let bad = json!({"since": "2026-01-01T00:00:00Z", misspelt: true});
        let refused = service.post(&at("/undo"), bad).await;
        assert_eq!(refused.status, 422, "{refused:?}");
        assert!(refused.body.to_string().contains(misspelt), "{refused:?}");
    }
    assert_eq!(memories(&service).await, before);
}

#[tokio::test]
async fn an_undo_is_listed_with_its_key_for_administrators() {
    let service = Service::start().await;
    let reviewer = [Scope::TraceWrite, Scope::MemoryWrite];
    let reviewer = service.key(PROJECT, &reviewer).await;
    let stored = store(&service, &reviewer, run(Some(authored("pass")), &[])).await;
    let trace = stored.body["trace_id"].clone();
    let admin = service.key(PROJECT, &[Scope::ProjectAdmin]).await;
    let ask = async |key: &str, method, body| {
        service.call_as(Some(key), method, &at("/undo"), body).await
    };
    let undo = json!({"trace_id": trace});
    let done = ask(&admin, Method::POST, Some(undo.clone())).await;
    assert_eq!(done.body["totals"]["removed"], 1);
    let listed = ask(&admin, Method::GET, None).await;
    assert_eq!(listed.body.as_array().unwrap().len(), 1);
    assert_eq!(listed.body[0]["request"], undo);
    assert_eq!(listed.body[0]["totals"]["removed"], 1);
    let keys = service.get(&at("/api-keys")).await.body;
    let ids = keys.as_array().unwrap().iter().map(|key| &key["id"]);
    assert!(ids.clone().any(|id| *id == listed.body[0]["key_id"]));
    assert_eq!(ask(&reviewer, Method::GET, None).await.status, 403);
}
