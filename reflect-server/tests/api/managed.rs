//! Memories and projects under management: who changed what, and who sees what.

use axum::http::{Method, StatusCode};
use reflect_types::Scope;
use serde_json::{Value, json};

use super::support::{PROJECT, Service, at};

/// A memory of the test's project; returns its path.
async fn memory(service: &Service) -> String {
    let trace = service.trace("Refund order 7").await;
    let review = json!({"result": "pass", "feedback_text": null});
    let reviewed = service
        .post(&at(&format!("/traces/{trace}/review")), review)
        .await;
    let id = reviewed.body["created_memory_id"].as_str().unwrap();
    at(&format!("/memories/{id}"))
}

async fn found(service: &Service) -> usize {
    let query = json!({"task": "Refund order 7"});
    let found = service.post(&at("/memory/query"), query).await;
    found.body.as_array().unwrap().len()
}

#[tokio::test]
async fn a_change_of_a_memory_names_the_key_that_made_it() {
    let service = Service::start().await;
    let memory = memory(&service).await;
    let key = service.key(PROJECT, &[Scope::MemoryAdmin]).await;
    let keys = service.get(&at("/api-keys")).await;
    let key_id = &keys.body[0]["id"];
    let patch = async |body: Value| {
        let patched = service.call_as(Some(&key), Method::PATCH, &memory, Some(body));
        patched.await
    };
    let edit = json!({"reflection": {"guidance": "Ask first"}, "note": "why"});
    let edited = patch(edit).await;
    assert_eq!(edited.status, StatusCode::OK, "{edited:?}");
    assert_eq!(edited.body["guidance"], "Ask first");
    let change = &edited.body["changes"][0];
    assert_eq!(
        (&change["kind"], &change["note"]),
        (&json!("edited"), &json!("why"))
    );
    assert_eq!(change["key_id"], *key_id);
    assert_eq!(change["edit"], json!({"guidance": "Ask first"}));

    assert_eq!(found(&service).await, 1);
    let aside = patch(json!({"status": "quarantined"})).await;
    assert_eq!(aside.body["status"], "quarantined");
    assert_eq!(found(&service).await, 0);
    patch(json!({"status": "active"})).await;
    assert_eq!(found(&service).await, 1);

    let undo = service.post(&at("/undo"), json!({"key_id": key_id})).await;
    assert_eq!(
        undo.body["rewritten"].as_array().unwrap().len(),
        1,
        "{undo:?}"
    );
    let back = service.get(&memory).await.body;
    assert_ne!(back["guidance"], "Ask first");
    assert_eq!(back["changes"], json!([]));

    let gone = service
        .call_as(Some(&key), Method::DELETE, &memory, None)
        .await;
    assert_eq!(gone.status, StatusCode::OK);
    assert_eq!(service.get(&memory).await.status, StatusCode::NOT_FOUND);
    let changes = service.get(&at("/memory/changes")).await.body;
    assert_eq!(changes[0]["kind"], "deleted");
    assert_eq!(changes[0]["key_id"], *key_id);
}

#[tokio::test]
async fn a_bad_change_of_a_memory_names_its_field() {
    let service = Service::start().await;
    let memory = memory(&service).await;
    for (body, field) in [
        (json!({}), "reflection"),
        (json!({"status": "withdrawn"}), "status"),
        (json!({"reflection": {"summary": " "}}), "summary"),
        (json!({"reflection": {"summary": 1}}), "reflection.summary"),
    ] {
        let refused = service.call(Method::PATCH, &memory, Some(body)).await;
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert_eq!(refused.body["field"], field, "{refused:?}");
    }
    let list = service.get(&at("/memories?status=withdrawn")).await;
    assert_eq!(list.body["field"], "status");
}

#[tokio::test]
async fn a_key_sees_its_own_project_and_the_master_key_all() {
    let service = Service::start().await;
    service.trace("one").await;
    let other = service.key("other", &[Scope::SkillRead]).await;
    let ids = |body: &Value| -> Vec<String> {
        let projects = body.as_array().unwrap().iter();
        let id = |project: &Value| project["project_id"].as_str().unwrap().to_owned();
        projects.map(id).collect()
    };
    let path = "/v1/projects";
    let own = service.call_as(Some(&other), Method::GET, path, None).await;
    assert_eq!(ids(&own.body), ["other"]);
    let all = service.get(path).await;
    assert_eq!(ids(&all.body), ["other", PROJECT]);
    assert_eq!(
        (&all.body[1]["traces"], &all.body[1]["memories"]),
        (&json!(1), &json!(0))
    );
    let without = service.call_as(None, Method::GET, path, None).await;
    assert_eq!(without.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_new_project_has_a_printable_id() {
    let service = Service::start().await;
    let trace = json!({"task": "t", "trajectory": "done"});
    let odd = [
        "a%00b",
        "a%1Bb",
        "a%E2%80%8Bb",
        "a%E2%80%AEb",
        "%20a",
        &"a".repeat(129),
    ];
    for project in odd {
        let path = format!("/v1/projects/{project}");
        let requests = [
            (Method::POST, "/traces", trace.clone()),
            (
                Method::POST,
                "/api-keys",
                json!({"label": "l", "scopes": ["trace:read"]}),
            ),
            (Method::POST, "/archive", json!({"pieces": []})),
            (Method::PATCH, "", json!({"approve": "first"})),
        ];
        for (method, end, body) in requests {
            let path = format!("{path}{end}");
            let refused = service.call(method, &path, Some(body)).await;
            assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{path}");
            assert_eq!(refused.body["field"], "project_id", "{path}");
        }
        let read = service.get(&format!("{path}/traces")).await;
        assert_eq!(read.status, StatusCode::OK, "{path}");
        let keys = service.get(&format!("{path}/api-keys")).await;
        assert_eq!(keys.body, json!([]), "{path}");
    }
    let all = service.get("/v1/projects").await;
    assert_eq!(all.body, json!([]));
}

#[tokio::test]
async fn a_review_over_the_limit_of_its_project_is_refused() {
    let service = Service::start().await;
    let trace = service.trace("t").await;
    let limit = json!({"max_alpha": 0.2});
    let set = service.call(Method::PATCH, &at(""), Some(limit)).await;
    assert_eq!(set.body["max_alpha"], 0.2, "{set:?}");
    let path = at(&format!("/traces/{trace}/review"));
    let refused = service
        .post(&path, json!({"result": "pass", "alpha": 0.5}))
        .await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(refused.body["field"], "alpha");
    let kept = service.call(Method::PATCH, &at(""), Some(json!({}))).await;
    assert_eq!(kept.body["max_alpha"], 0.2, "{kept:?}");
    let none = json!({"max_alpha": null});
    let set = service.call(Method::PATCH, &at(""), Some(none)).await;
    assert_eq!(set.body["max_alpha"], Value::Null);
    let reviewed = service
        .post(&path, json!({"result": "pass", "alpha": 0.5}))
        .await;
    assert_eq!(reviewed.status, StatusCode::OK);
}
