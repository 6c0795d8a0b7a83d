//! Every endpoint against every kind of caller.

use axum::http::{Method, StatusCode};
use reflect_types::Scope;
use serde_json::{Value, json};

use super::support::{PROJECT, Service, at};

/// An endpoint, its scope and a valid request.
struct Endpoint {
    method: Method,
    path: &'static str,
    scope: Scope,
    body: Option<Value>,
}

fn endpoint(method: Method, path: &'static str, scope: Scope, body: Option<Value>) -> Endpoint {
    Endpoint {
        method,
        path,
        scope,
        body,
    }
}

/// The endpoints of agents and reviewers.
fn endpoints() -> Vec<Endpoint> {
    let trace = json!({"task": "t", "trajectory": "done"});
    let mut authored = trace.clone();
    authored["review"] = json!({"result": "pass", "reflection": {"summary": "s", "guidance": "g"}});
    vec![
        endpoint(
            Method::POST,
            "/memory/query",
            Scope::MemoryRead,
            Some(json!({"task": "t"})),
        ),
        endpoint(
            Method::POST,
            "/memory/explain",
            Scope::MemoryRead,
            Some(json!({"task": "t"})),
        ),
        endpoint(Method::POST, "/traces", Scope::TraceWrite, Some(trace)),
        endpoint(Method::POST, "/traces", Scope::MemoryWrite, Some(authored)),
        endpoint(Method::GET, "/traces", Scope::TraceRead, None),
        endpoint(Method::GET, "/traces/{trace_id}", Scope::TraceRead, None),
        endpoint(
            Method::GET,
            "/traces/{trace_id}/tree",
            Scope::TraceRead,
            None,
        ),
        endpoint(
            Method::POST,
            "/traces/{trace_id}/review",
            Scope::ReviewWrite,
            Some(json!({"result": "pass", "feedback_text": null})),
        ),
        endpoint(
            Method::POST,
            "/reviews/by-key",
            Scope::ReviewWrite,
            Some(json!({"match": {"ticket": "123"}, "result": "pass"})),
        ),
        endpoint(
            Method::PUT,
            "/traces/{trace_id}/review",
            Scope::ReviewWrite,
            Some(json!({"result": "fail", "feedback_text": "no"})),
        ),
        endpoint(
            Method::DELETE,
            "/traces/{trace_id}/review",
            Scope::ReviewWrite,
            None,
        ),
        endpoint(
            Method::POST,
            "/traces/{trace_id}/retry",
            Scope::TraceWrite,
            Some(json!({})),
        ),
        endpoint(
            Method::POST,
            "/traces/delete",
            Scope::TraceWrite,
            Some(json!({"trace_ids": ["none"]})),
        ),
        endpoint(
            Method::POST,
            "/undo",
            Scope::ProjectAdmin,
            Some(json!({"key_id": "no-such-key"})),
        ),
        endpoint(Method::GET, "/undo", Scope::ProjectAdmin, None),
        endpoint(Method::GET, "/settings", Scope::MemoryRead, None),
        endpoint(Method::GET, "/stats", Scope::TraceRead, None),
        endpoint(Method::GET, "/report", Scope::TraceRead, None),
        endpoint(Method::GET, "/memories", Scope::MemoryRead, None),
        endpoint(
            Method::GET,
            "/memories/{memory_id}",
            Scope::MemoryRead,
            None,
        ),
        endpoint(
            Method::PATCH,
            "/memories/{memory_id}",
            Scope::MemoryAdmin,
            Some(json!({"status": "quarantined"})),
        ),
        endpoint(
            Method::DELETE,
            "/memories/{memory_id}",
            Scope::MemoryAdmin,
            None,
        ),
        endpoint(Method::GET, "/memory/changes", Scope::MemoryRead, None),
    ]
}

/// All endpoints that need a key. `document::every_endpoint_is_in_the_access_matrix` checks that none
/// is missing.
fn all() -> Vec<Endpoint> {
    [endpoints(), administration()]
        .into_iter()
        .flatten()
        .collect()
}

/// The endpoints of administrators.
fn administration() -> Vec<Endpoint> {
    vec![
        endpoint(Method::GET, "/archive", Scope::ProjectAdmin, None),
        endpoint(Method::GET, "/archive/memories", Scope::ProjectAdmin, None),
        endpoint(Method::GET, "/archive/traces", Scope::ProjectAdmin, None),
        endpoint(
            Method::POST,
            "/archive",
            Scope::ProjectAdmin,
            Some(json!({"pieces": []})),
        ),
        endpoint(Method::GET, "/skill", Scope::SkillRead, None),
        endpoint(
            Method::POST,
            "/skill/create",
            Scope::SkillWrite,
            Some(json!({})),
        ),
        endpoint(Method::GET, "/api-keys", Scope::KeyAdmin, None),
        endpoint(
            Method::POST,
            "/api-keys",
            Scope::KeyAdmin,
            Some(json!({"label": "l", "scopes": ["key:admin"]})),
        ),
        endpoint(
            Method::POST,
            "/api-keys/{key_id}/revoke",
            Scope::KeyAdmin,
            Some(json!({})),
        ),
        endpoint(
            Method::PATCH,
            "",
            Scope::ProjectAdmin,
            Some(json!({"max_alpha": 0.5})),
        ),
        endpoint(Method::DELETE, "", Scope::ProjectAdmin, None),
    ]
}

/// The methods and paths of the matrix, in the notation of the document.
pub(crate) fn matrix() -> Vec<(String, String)> {
    let whole = |e: Endpoint| {
        (
            e.method.to_string(),
            format!("/v1/projects/{{project_id}}{}", e.path),
        )
    };
    all().into_iter().map(whole).collect()
}

async fn statuses(
    service: &Service,
    key: Option<&str>,
    project: &str,
) -> Vec<(String, StatusCode)> {
    let trace = service.trace("seen by the matrix").await;
    let mut seen = Vec::new();
    for endpoint in all() {
        let path = format!("/v1/projects/{project}{}", endpoint.path)
            .replace("{trace_id}", &trace)
            .replace("{memory_id}", "no-such-memory")
            .replace("{key_id}", "no-such-key");
        let answer = service
            .call_as(key, endpoint.method.clone(), &path, endpoint.body)
            .await;
        if !answer.status.is_success() {
            answer.code();
        }
        seen.push((
            format!("{} {}", endpoint.method, endpoint.path),
            answer.status,
        ));
    }
    seen
}

/// The statuses for an allowed caller; 409 and 404 depend on the stored data, not on the caller.
fn carried_out(status: StatusCode) -> bool {
    status.is_success() || status == StatusCode::NOT_FOUND || status == StatusCode::CONFLICT
}

#[tokio::test]
async fn without_a_good_key_everything_is_401() {
    let service = Service::start().await;
    let revoked = service.key(PROJECT, Scope::KNOWN).await;
    let keys = service.get(&at("/api-keys")).await;
    let id = keys.body[0]["id"].as_str().unwrap();
    let ended = service
        .post(&at(&format!("/api-keys/{id}/revoke")), json!({}))
        .await;
    assert_eq!(ended.status, StatusCode::OK);
    let good = service.key(PROJECT, Scope::KNOWN).await;
    let forged = format!("{}0", &good[..good.len() - 1]);
    let as_test = good.replace("rf_live_", "rf_test_");
    let bad = [
        None,
        Some(""),
        Some("nonsense"),
        Some("rf_live_unknown_secret"),
        Some(forged.as_str()),
        Some(as_test.as_str()),
        Some(revoked.as_str()),
    ];
    // A forged key may be the valid one by chance.
    for key in bad.into_iter().filter(|key| *key != Some(good.as_str())) {
        for (endpoint, status) in statuses(&service, key, PROJECT).await {
            assert_eq!(status, StatusCode::UNAUTHORIZED, "{endpoint} with {key:?}");
        }
    }
}

#[tokio::test]
async fn a_key_of_another_project_is_403_everywhere_and_learns_nothing() {
    let service = Service::start().await;
    let key = service.key("other", Scope::KNOWN).await;
    for project in [PROJECT, "does-not-exist", "..%2Fother", "%2E%2E"] {
        for (endpoint, status) in statuses(&service, Some(&key), project).await {
            assert_eq!(status, StatusCode::FORBIDDEN, "{endpoint} in {project}");
        }
    }
    let trace = service.trace("secret").await;
    let real = service
        .call_as(
            Some(&key),
            Method::GET,
            &at(&format!("/traces/{trace}")),
            None,
        )
        .await;
    let made_up = service
        .call_as(Some(&key), Method::GET, &at("/traces/made-up"), None)
        .await;
    assert_eq!(real.body, made_up.body);
    // The id does not exist in the caller's own project.
    let path = format!("/v1/projects/other/traces/{trace}");
    let own = service.call_as(Some(&key), Method::GET, &path, None).await;
    assert_eq!(own.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn key_may_call_only_the_operations_of_its_scopes() {
    for scope in Scope::KNOWN {
        let service = Service::start().await;
        let key = service.key(PROJECT, std::slice::from_ref(scope)).await;
        let may = |e: &Endpoint| {
            // Whose traces may be deleted is decided by their author.
            let deletes = e.path == "/traces/delete" && scope.includes(&Scope::TraceAdmin);
            scope.includes(&e.scope) || deletes
        };
        let expected: Vec<bool> = all().iter().map(may).collect();
        let seen = statuses(&service, Some(&key), PROJECT).await;
        for ((endpoint, status), allowed) in seen.into_iter().zip(expected) {
            if allowed {
                assert!(carried_out(status), "{scope}: {endpoint} gave {status}");
            } else {
                assert_eq!(status, StatusCode::FORBIDDEN, "{scope}: {endpoint}");
            }
        }
    }
}

#[tokio::test]
async fn master_key_may_do_everything_in_every_project() {
    let service = Service::start().await;
    for project in [PROJECT, "brand-new"] {
        for (endpoint, status) in statuses(&service, Some(&service.master), project).await {
            assert!(carried_out(status), "{endpoint} in {project} gave {status}");
        }
    }
}

#[tokio::test]
async fn deleting_and_authoring_memories_needs_memory_write() {
    let service = Service::start().await;
    let key = service
        .key(PROJECT, &[Scope::TraceWrite, Scope::ReviewWrite])
        .await;
    let trace = service.trace("t").await;
    let delete = json!({"trace_ids": [trace], "delete_memories": true});
    let refused = service
        .call_as(
            Some(&key),
            Method::POST,
            &at("/traces/delete"),
            Some(delete),
        )
        .await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    let review = json!({"result": "pass", "reflection": {"summary": "s", "guidance": "g"}});
    let refused = service
        .call_as(
            Some(&key),
            Method::POST,
            &at(&format!("/traces/{trace}/review")),
            Some(review),
        )
        .await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    assert!(
        refused.body["detail"]
            .as_str()
            .unwrap()
            .contains("memory:write")
    );
}

#[tokio::test]
async fn a_key_that_only_reviews_is_not_shown_the_run() {
    let service = Service::start().await;
    let trace = service.trace("a secret task").await;
    let path = at(&format!("/traces/{trace}/review"));
    let said = json!({"result": "fail", "feedback_text": "words of another"});
    service.post(&path, said).await;
    let key = service.key(PROJECT, &[Scope::ReviewWrite]).await;
    let own = json!({"result": "pass", "feedback_text": "own words"});
    for (method, body, words) in [
        (Method::POST, Some(json!({"result": "fail"})), None),
        (Method::PUT, Some(own), Some("own words")),
        (Method::DELETE, None, None),
    ] {
        let answer = service.call_as(Some(&key), method, &path, body).await;
        assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
        assert_eq!(answer.body["id"], trace);
        assert_eq!(answer.body["task"], "");
        assert_eq!(answer.body["trajectory"], json!([]));
        let shown = &answer.body["review"]["feedback_text"];
        assert_eq!(shown.as_str(), words, "{answer:?}");
    }
    let headers = service.get(&at("/traces")).await.headers;
    assert_eq!(headers["cache-control"], "no-store");
    assert_eq!(headers["x-content-type-options"], "nosniff");
}
