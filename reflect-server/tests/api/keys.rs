use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use reflect_types::Scope;
use serde_json::{Value, json};

use super::support::{Answer, BOOTSTRAP, PROJECT, Service, at};
use reflect_server::Settings;

async fn bootstrap(service: &Service, token: Option<&str>, body: Value) -> Answer {
    let mut request = Request::post("/v1/bootstrap");
    if let Some(token) = token {
        request = request.header("x-bootstrap-token", token);
    }
    service
        .send(request.body(Body::from(body.to_string())).unwrap())
        .await
}

fn ada(project: &str) -> Value {
    json!({"user_id": "ada", "project_id": project, "key_label": "Default Admin Key", "environment": "live"})
}

#[tokio::test]
async fn bootstrap_creates_an_admin_key_for_one_project() {
    let service = Service::start().await;
    let made = bootstrap(&service, Some(BOOTSTRAP), ada(PROJECT)).await;
    assert_eq!(made.status, StatusCode::CREATED);
    assert_eq!(made.body["user_id"], "ada");
    assert_eq!(made.body["project_id"], PROJECT);
    let key = made.body["api_key"].as_str().unwrap();
    let keys = service
        .call_as(Some(key), Method::GET, &at("/api-keys"), None)
        .await;
    assert_eq!(keys.body[0]["label"], "Default Admin Key");
    assert_eq!(keys.body[0]["is_master"], false);
    assert_eq!(
        keys.body[0]["scopes"].as_array().unwrap().len(),
        Scope::KNOWN.len()
    );
    let other = service
        .call_as(Some(key), Method::GET, "/v1/projects/other/traces", None)
        .await;
    assert_eq!(other.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn bootstrap_of_an_existing_project_is_a_conflict() {
    let service = Service::start().await;
    let first = bootstrap(&service, Some(BOOTSTRAP), ada("p")).await;
    assert_eq!(first.status, StatusCode::CREATED);
    let again = bootstrap(&service, Some(BOOTSTRAP), ada("p")).await;
    assert_eq!(again.status, StatusCode::CONFLICT);
    // Recorded with the master key, so the project has no key.
    service.trace("t").await;
    let recorded = bootstrap(&service, Some(BOOTSTRAP), ada(PROJECT)).await;
    assert_eq!(recorded.status, StatusCode::CONFLICT);
}

#[tokio::test]
async fn bootstrap_needs_the_token() {
    let service = Service::start().await;
    for token in [None, Some(""), Some("guess")] {
        assert_eq!(
            bootstrap(&service, token, ada("p")).await.status,
            StatusCode::UNAUTHORIZED
        );
    }
    let invalid = bootstrap(
        &service,
        Some(BOOTSTRAP),
        json!({"user_id": "", "project_id": "p"}),
    )
    .await;
    assert_eq!(invalid.body["field"], "user_id");
    let closed = Service::with(Settings::default()).await;
    assert_eq!(
        bootstrap(&closed, Some(""), ada("p")).await.status,
        StatusCode::FORBIDDEN
    );
}

#[tokio::test]
async fn key_is_shown_once_listed_used_and_revoked() {
    let service = Service::start().await;
    let create =
        json!({"label": "nightly", "scopes": ["trace:read", "trace:read"], "environment": "test"});
    let made = service.post(&at("/api-keys"), create).await;
    assert_eq!(made.status, StatusCode::CREATED);
    let key = made.body["api_key"].as_str().unwrap();
    assert!(key.starts_with("rf_test_"), "{key}");
    assert_eq!(made.body["key"]["scopes"], json!(["trace:read"]));
    assert_eq!(made.body["key"]["last_used_at"], Value::Null);

    assert_eq!(
        service
            .call_as(Some(key), Method::GET, &at("/traces"), None)
            .await
            .status,
        200
    );
    let listed = service.get(&at("/api-keys")).await;
    assert_eq!(listed.body[0]["id"], made.body["key"]["id"]);
    assert!(listed.body[0]["last_used_at"].is_string());
    let secret = key.rsplit('_').next().unwrap();
    assert!(!listed.body.to_string().contains(secret));

    let path = at(&format!(
        "/api-keys/{}/revoke",
        made.body["key"]["id"].as_str().unwrap()
    ));
    let ended = service.post(&path, json!({})).await;
    assert_eq!(
        (ended.status, &ended.body["status"]),
        (StatusCode::OK, &json!("revoked"))
    );
    assert_eq!(
        service
            .call_as(Some(key), Method::GET, &at("/traces"), None)
            .await
            .status,
        401
    );
    // A second revocation changes nothing. The body is optional.
    let again = service.call(Method::POST, &path, None).await;
    assert_eq!(again.body, service.get(&at("/api-keys")).await.body[0]);
    assert_eq!(again.body["revoked_at"], ended.body["revoked_at"]);
}

#[tokio::test]
async fn key_of_another_project_is_not_found() {
    let service = Service::start().await;
    service.key("other", &[Scope::TraceRead]).await;
    let others = service.get("/v1/projects/other/api-keys").await;
    let id = others.body[0]["id"].as_str().unwrap();
    let path = at(&format!("/api-keys/{id}/revoke"));
    assert_eq!(
        service.post(&path, json!({})).await.status,
        StatusCode::NOT_FOUND
    );
    assert_eq!(service.get(&at("/api-keys")).await.body, json!([]));
}

#[tokio::test]
async fn key_grants_only_its_own_scopes() {
    let service = Service::start().await;
    let admin = service
        .key(PROJECT, &[Scope::KeyAdmin, Scope::TraceRead])
        .await;
    let ask = |scopes: Value| json!({"label": "l", "scopes": scopes});
    let more = service
        .call_as(
            Some(&admin),
            Method::POST,
            &at("/api-keys"),
            Some(ask(json!(["project:admin"]))),
        )
        .await;
    assert_eq!(more.status, StatusCode::FORBIDDEN);
    let same = service
        .call_as(
            Some(&admin),
            Method::POST,
            &at("/api-keys"),
            Some(ask(json!(["trace:read"]))),
        )
        .await;
    assert_eq!(same.status, StatusCode::CREATED);
}

#[tokio::test]
async fn deleting_a_project_deletes_its_keys_only() {
    let service = Service::start().await;
    let key = service.key(PROJECT, Scope::KNOWN).await;
    let other = service.key("other", Scope::KNOWN).await;
    let trace = service.trace("t").await;
    let gone = service
        .call_as(Some(&key), Method::DELETE, &at(""), None)
        .await;
    assert_eq!(gone.body, json!({"project_id": PROJECT, "deleted": true}));
    assert_eq!(
        service
            .call_as(Some(&key), Method::GET, &at("/traces"), None)
            .await
            .status,
        401
    );
    let path = "/v1/projects/other/traces";
    assert_eq!(
        service
            .call_as(Some(&other), Method::GET, path, None)
            .await
            .status,
        200
    );
    assert_eq!(
        service.get(&at(&format!("/traces/{trace}"))).await.status,
        404
    );
    assert_eq!(service.get(&at("/traces")).await.body, json!([]));
    let again = service.call(Method::DELETE, &at(""), None).await;
    assert_eq!(again.body["deleted"], false);
}

#[tokio::test]
async fn only_a_master_key_creates_projects() {
    let service = Service::start().await;
    let key = service.key(PROJECT, Scope::KNOWN).await;
    // The state during a deletion: the project is deleted, its keys are not yet.
    let engine = service.app.engine();
    engine.delete_project(&PROJECT.into()).await.unwrap();
    let trace = json!({"task": "t", "trajectory": "done"});
    let mut reviewed = trace.clone();
    reviewed["review"] = json!({"result": "pass"});
    let mut authored = trace.clone();
    authored["review"] = json!({"result": "pass", "reflection": {"summary": "s", "guidance": "g"}});
    for (path, body) in [
        ("/traces", &trace),
        ("/traces", &reviewed),
        ("/traces", &authored),
        ("/archive", &json!({"pieces": []})),
    ] {
        let refused = service
            .call_as(Some(&key), Method::POST, &at(path), Some(body.clone()))
            .await;
        assert_eq!(refused.status, StatusCode::NOT_FOUND, "{refused:?}");
        assert!(refused.body["detail"].as_str().unwrap().contains("project"));
    }
    assert!(engine.list_projects().await.unwrap().is_empty());
    service.trace("t").await;
    let stored = service
        .call_as(Some(&key), Method::POST, &at("/traces"), Some(trace))
        .await;
    assert_eq!(stored.status, StatusCode::CREATED);
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_project_is_not_recreated() {
    let folder = tempfile::tempdir().unwrap();
    let engine = reflect_engine::Engine::open_sqlite(folder.path().join("reflect.db")).await;
    let service = std::sync::Arc::new(Service::of(engine.unwrap(), Settings::default()).await);
    for _ in 0..5 {
        let key = service.key(PROJECT, Scope::KNOWN).await;
        let busy: Vec<_> = (0..8)
            .map(|n| {
                let (service, key) = (service.clone(), key.clone());
                let (path, body) = if n == 0 {
                    (
                        "/api-keys",
                        json!({"label": "l", "scopes": ["trace:write"]}),
                    )
                } else {
                    ("/traces", json!({"task": "t", "trajectory": "done"}))
                };
                let path = at(path);
                tokio::spawn(async move {
                    let mut stored = 0;
                    loop {
                        // The in-memory store never yields.
                        tokio::task::yield_now().await;
                        let call =
                            service.call_as(Some(&key), Method::POST, &path, Some(body.clone()));
                        match call.await.status.as_u16() {
                            201 => stored += 1,
                            404 => {}
                            401 => return stored,
                            status => panic!("{status}"),
                        }
                    }
                })
            })
            .collect();
        while service.get(&at("/stats")).await.body["traces"].as_u64() < Some(20) {
            tokio::task::yield_now().await;
        }
        let gone = service
            .call_as(Some(&key), Method::DELETE, &at(""), None)
            .await;
        assert_eq!(gone.status, StatusCode::OK);
        let mut stored = 0;
        for task in busy {
            stored += task.await.unwrap();
        }
        // On a busy machine some tasks have not run.
        assert!(stored > 0);
        let there = service.app.engine().list_projects().await.unwrap();
        assert!(there.is_empty(), "{there:?}");
        assert_eq!(service.get(&at("/api-keys")).await.body, json!([]));
    }
}
