//! Expiry, the largest alpha, and the rights of keys over other keys.

use axum::http::{Method, StatusCode};
use jiff::{SignedDuration, Timestamp};
use reflect_types::Scope;
use serde_json::{Value, json};

use super::support::{Answer, Service, at};

async fn create_as(service: &Service, key: &str, body: Value) -> Answer {
    service
        .call_as(Some(key), Method::POST, &at("/api-keys"), Some(body))
        .await
}

/// A key made with the master key: its text and its id.
async fn created(service: &Service, body: Value) -> (String, String) {
    let made = create_as(service, &service.master, body).await;
    assert_eq!(made.status, StatusCode::CREATED, "{made:?}");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (text(&made.body["api_key"]), text(&made.body["key"]["id"]))
}

async fn revoke_as(service: &Service, key: &str, id: &str) -> Answer {
    let path = at(&format!("/api-keys/{id}/revoke"));
    service.call_as(Some(key), Method::POST, &path, None).await
}

fn in_milliseconds(count: i64) -> Timestamp {
    // Whole milliseconds, as they are stored.
    let now = Timestamp::from_millisecond(Timestamp::now().as_millisecond()).unwrap();
    now + SignedDuration::from_millis(count)
}

#[tokio::test]
async fn expired_key_is_401_and_says_when_it_expired() {
    let service = Service::start().await;
    let end = in_milliseconds(200);
    let body = json!({"label": "l", "scopes": ["trace:read"], "expires_at": end.to_string()});
    let (key, _) = created(&service, body).await;
    let deadline = in_milliseconds(10_000);
    let refused = loop {
        let answer = service
            .call_as(Some(&key), Method::GET, &at("/traces"), None)
            .await;
        if answer.status != StatusCode::OK {
            break answer;
        }
        assert!(Timestamp::now() < deadline);
    };
    assert!(Timestamp::now() >= end);
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
    let expires_at = format!("{end:.3}");
    let detail = refused.body["detail"].as_str().unwrap();
    assert!(
        detail.contains(&format!("expired at {expires_at}")),
        "{detail}"
    );
    let listed = service.get(&at("/api-keys")).await;
    assert_eq!(listed.body[0]["expires_at"], expires_at);
    let past =
        json!({"label": "l", "scopes": ["trace:read"], "expires_at": "2020-01-01T00:00:00Z"});
    let refused = create_as(&service, &service.master, past).await;
    assert_eq!(refused.body["field"], "expires_at", "{refused:?}");
}

#[tokio::test]
async fn key_revokes_itself_and_weaker_keys_but_no_stronger_one() {
    let service = Service::start().await;
    let scopes = |scopes: Value| json!({"label": "l", "scopes": scopes});
    let (admin, admin_id) = created(&service, scopes(json!(["key:admin", "trace:read"]))).await;
    let strong = scopes(json!(["trace:read", "memory:write", "project:admin"]));
    let (_, strong_id) = created(&service, strong).await;
    let (_, weak_id) = created(&service, scopes(json!(["trace:read"]))).await;

    let refused = revoke_as(&service, &admin, &strong_id).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    let detail = refused.body["detail"].as_str().unwrap();
    assert!(
        detail.ends_with("`memory:write`, `project:admin`"),
        "{detail}"
    );
    assert!(!detail.contains("trace:read"), "{detail}");
    let listed = service.get(&at("/api-keys")).await;
    assert_eq!(listed.body[1]["status"], "active");

    let missing = revoke_as(&service, &admin, "none").await;
    assert_eq!(missing.status, StatusCode::NOT_FOUND);
    for id in [&weak_id, &admin_id] {
        let revoked = revoke_as(&service, &admin, id).await;
        assert_eq!(revoked.body["status"], "revoked", "{revoked:?}");
    }
    let master = revoke_as(&service, &service.master, &strong_id).await;
    assert_eq!(master.body["status"], "revoked");
}

#[tokio::test]
async fn key_revokes_no_key_with_wider_limits() {
    let service = Service::start().await;
    let (soon, later) = (in_milliseconds(3_600_000), in_milliseconds(7_200_000));
    let key = |alpha: Value, end: Value| json!({"label": "l", "scopes": ["key:admin"], "max_alpha": alpha, "expires_at": end});
    let own = key(json!(0.2), json!(soon.to_string()));
    let (caller, caller_id) = created(&service, own.clone()).await;
    for (alpha, end) in [
        (Value::Null, json!(soon.to_string())),
        (json!(0.3), json!(soon.to_string())),
        (json!(0.2), json!(later.to_string())),
        (json!(0.2), Value::Null),
    ] {
        let (_, id) = created(&service, key(alpha, end)).await;
        let refused = revoke_as(&service, &caller, &id).await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN, "{refused:?}");
    }
    let child = create_as(&service, &caller, own).await;
    assert_eq!(
        child.body["key"]["created_by"],
        caller_id.as_str(),
        "{child:?}"
    );
    let id = child.body["key"]["id"].as_str().unwrap();
    let revoked = revoke_as(&service, &caller, id).await;
    assert_eq!(revoked.body["status"], "revoked", "{revoked:?}");
    assert_eq!(revoked.body["created_by"], caller_id.as_str());
}

#[tokio::test]
async fn key_hands_its_limits_to_the_keys_it_creates() {
    let service = Service::start().await;
    let end = format!("{:.3}", in_milliseconds(3_600_000));
    let limited = json!({
        "label": "l", "scopes": ["key:admin"], "expires_at": end, "max_alpha": 0.2,
    });
    let (key, _) = created(&service, limited).await;
    let child = create_as(
        &service,
        &key,
        json!({"label": "child", "scopes": ["key:admin"]}),
    )
    .await;
    assert_eq!(child.body["key"]["expires_at"], end, "{child:?}");
    assert_eq!(child.body["key"]["max_alpha"], 0.2);
    for (stronger, named) in [
        (
            json!({"label": "l", "scopes": ["trace:read"]}),
            "`trace:read`",
        ),
        (
            json!({"label": "l", "scopes": ["key:admin"], "max_alpha": 0.3}),
            "0.2",
        ),
        (
            json!({"label": "l", "scopes": ["key:admin"], "expires_at": "2100-01-01T00:00:00Z"}),
            "expires",
        ),
    ] {
        let refused = create_as(&service, &key, stronger).await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN, "{refused:?}");
        let detail = refused.body["detail"].as_str().unwrap();
        assert!(detail.contains(named), "{detail}");
    }
}

#[tokio::test]
async fn review_without_an_alpha_gets_at_most_the_largest_of_its_key() {
    let service = Service::start().await;
    let body = json!({"label": "l", "scopes": Scope::KNOWN, "max_alpha": 0.1});
    let (key, _) = created(&service, body).await;
    let review = json!({"result": "pass", "reflection": {"summary": "s", "guidance": "g"}});
    let run = |given: Value| json!({"task": "t", "trajectory": "done", "review": review, "retrieved_memory_ids": given});
    let first = service.post(&at("/traces"), run(json!([]))).await.body;
    let path = at(&format!("/traces/{}", first["trace_id"].as_str().unwrap()));
    let memory = service.get(&path).await.body["created_memory_id"].clone();
    let given = Some(run(json!([memory])));
    let stored = service
        .call_as(Some(&key), Method::POST, &at("/traces"), given)
        .await;
    assert_eq!(stored.status, StatusCode::CREATED, "{stored:?}");
    let path = at(&format!("/memories/{}", memory.as_str().unwrap()));
    let moved = service.get(&path).await.body;
    assert_eq!(moved["events"][0]["alpha"], 0.1);
}

#[tokio::test]
async fn review_without_an_alpha_keeps_the_limits_of_its_key_and_of_its_project() {
    let service = Service::start().await;
    let trace = service.trace("t").await;
    let limit = json!({"max_alpha": 0.05});
    service.call(Method::PATCH, &at(""), Some(limit)).await;
    let body = json!({"label": "l", "scopes": Scope::KNOWN, "max_alpha": 0.1});
    let (key, _) = created(&service, body).await;
    let path = at(&format!("/traces/{trace}/review"));
    let pass = Some(json!({"result": "pass"}));
    let reviewed = service.call_as(Some(&key), Method::POST, &path, pass).await;
    assert_eq!(reviewed.status, StatusCode::OK, "{reviewed:?}");
}

#[tokio::test]
async fn review_over_the_largest_alpha_of_its_key_is_refused() {
    let service = Service::start().await;
    let body = json!({"label": "l", "scopes": Scope::KNOWN, "max_alpha": 0.1});
    let (key, _) = created(&service, body).await;
    let deferred = at(&format!("/traces/{}/review", service.trace("t").await));
    let with_review = |review: Value| json!({"task": "t", "trajectory": "done", "review": review});
    let call = async |method: Method, path: &str, body: Value| {
        service.call_as(Some(&key), method, path, Some(body)).await
    };
    let large = json!({"result": "pass", "alpha": 1.0});
    for refused in [
        call(Method::POST, &at("/traces"), with_review(large.clone())).await,
        call(Method::POST, &deferred, large.clone()).await,
        call(Method::PUT, &deferred, large.clone()).await,
    ] {
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert_eq!(refused.body["field"], "alpha");
        let detail = refused.body["detail"].as_str().unwrap();
        assert!(detail.contains("at most 0.1"), "{detail}");
    }
    let small = json!({"result": "pass", "alpha": 0.1});
    let stored = call(Method::POST, &at("/traces"), with_review(small.clone())).await;
    assert_eq!(stored.status, StatusCode::ACCEPTED, "{stored:?}");
    let reviewed = call(Method::POST, &deferred, small).await;
    assert_eq!(reviewed.status, StatusCode::OK, "{reviewed:?}");
    // Other keys have no limit.
    let stored = service.post(&at("/traces"), with_review(large)).await;
    assert_eq!(stored.status, StatusCode::ACCEPTED);
}
