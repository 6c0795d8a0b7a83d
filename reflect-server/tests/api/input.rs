//! Invalid input: always a message, a code and, where possible, the field; never a 500.

use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use serde_json::{Value, json};

use super::support::{Service, at};

#[tokio::test]
async fn malformed_json_is_400() {
    let service = Service::start().await;
    let deep = "[".repeat(100_000);
    let not_json: [&[u8]; 8] = [
        b"",
        b"{",
        b"{\"task\": \"t\"} trailing",
        b"{\"task\": \"\xff\xfe\"}",
        b"{\"task\": \"\\ud800\"}",
        b"{\"task\": NaN}",
        b"task=t",
        deep.as_bytes(),
    ];
    for path in ["/memory/query", "/traces", "/traces/delete", "/api-keys"] {
        for body in not_json {
            // Unknown fields are skipped without unescaping.
            if body.contains(&b'u') && !matches!(path, "/memory/query" | "/traces") {
                continue;
            }
            let request = Request::post(at(path))
                .header("authorization", format!("Bearer {}", service.master))
                .body(Body::from(body.to_vec()))
                .unwrap();
            let answer = service.send(request).await;
            assert_eq!(
                (answer.status, answer.code()),
                (StatusCode::BAD_REQUEST, "malformed_json"),
                "{path} {:?}",
                String::from_utf8_lossy(&body[..body.len().min(40)])
            );
        }
    }
}

type Case = ((String, Value), &'static str);

fn query(change: Value) -> (String, Value) {
    let query = merge(json!({"task": "t"}), change);
    ("/memory/query".to_owned(), query)
}

fn create(change: Value) -> (String, Value) {
    let trace = merge(json!({"task": "t", "trajectory": "done"}), change);
    ("/traces".to_owned(), trace)
}

fn other(path: &str, body: Value) -> (String, Value) {
    (path.to_owned(), body)
}

async fn each_names_its_field(service: &Service, cases: Vec<Case>) {
    for ((path, body), field) in cases {
        let answer = service.post(&at(&path), body.clone()).await;
        assert_eq!(
            (answer.status, answer.code()),
            (StatusCode::UNPROCESSABLE_ENTITY, "invalid_field"),
            "{path} {body}: {answer:?}"
        );
        assert_eq!(
            answer.body["field"], field,
            "{path} {body}: {}",
            answer.body["detail"]
        );
    }
}

#[tokio::test]
async fn invalid_field_of_a_query_is_named() {
    let cases = vec![
        (other("/memory/query", json!({})), "task"),
        (other("/memory/query", json!([])), "body"),
        (other("/memory/query", json!("task")), "body"),
        (query(json!({"task": 7})), "task"),
        (query(json!({"task": " "})), "task"),
        (query(json!({"limit": 0})), "limit"),
        (query(json!({"limit": 101})), "limit"),
        (query(json!({"limit": -1})), "limit"),
        (query(json!({"limit": 1.5})), "limit"),
        (query(json!({"limit": "10"})), "limit"),
        (query(json!({"limit": 99_999_999_999_u64})), "limit"),
        (query(json!({"lambda": 1.01})), "lambda"),
        (query(json!({"lambda": null})), "lambda"),
        (query(json!({"mmr_lambda": -0.1})), "mmr_lambda"),
        (query(json!({"metadata_filter": []})), "metadata_filter"),
        (
            query(json!({"similarity_threshold": 2})),
            "similarity_threshold",
        ),
    ];
    each_names_its_field(&Service::start().await, cases).await;
}

#[tokio::test]
async fn invalid_field_of_a_trace_is_named() {
    let cases = vec![
        (other("/traces", json!({"task": "t"})), "trajectory"),
        (create(json!({"task": ""})), "task"),
        (create(json!({"trajectory": [1]})), "trajectory"),
        (
            create(json!({"trajectory": {"role": "user"}})),
            "trajectory",
        ),
        (
            create(json!({"retrieved_memory_ids": "m"})),
            "retrieved_memory_ids",
        ),
        (
            create(json!({"retrieved_memory_ids": [1]})),
            "retrieved_memory_ids[0]",
        ),
        (
            create(json!({"retrieved_memory_ids": vec!["m"; 1_001]})),
            "retrieved_memory_ids",
        ),
        (
            create(json!({"retrieved_memory_ids": ["m".repeat(129)]})),
            "retrieved_memory_ids",
        ),
        (create(json!({"metadata": "m"})), "metadata"),
        (create(json!({"model": 4})), "model"),
        (create(json!({"review": "pass"})), "review"),
        (create(json!({"review": {}})), "review.result"),
        (
            create(json!({"review": {"result": "perhaps"}})),
            "review.result",
        ),
        (
            create(json!({"review": {"result": "pass", "alpha": 2}})),
            "review.alpha",
        ),
        (
            create(json!({"review": {"result": "pass", "reflection": {"summary": "s"}}})),
            "review.reflection.guidance",
        ),
        (
            create(
                json!({"review": {"result": "pass", "reflection": {"summary": "", "guidance": "g"}}}),
            ),
            "review.reflection.summary",
        ),
    ];
    each_names_its_field(&Service::start().await, cases).await;
}

#[tokio::test]
async fn invalid_field_of_other_requests_is_named() {
    let service = Service::start().await;
    let review = format!("/traces/{}/review", service.trace("t").await);
    let cases = vec![
        (other(&review, json!({"result": "maybe"})), "result"),
        (
            other(&review, json!({"result": "pass", "alpha": -1})),
            "alpha",
        ),
        (other(&review, json!({"feedback_text": "x"})), "result"),
        (
            other("/traces/delete", json!({"trace_ids": []})),
            "trace_ids",
        ),
        (
            other("/traces/delete", json!({"trace_ids": "all"})),
            "trace_ids",
        ),
        (
            other(
                "/traces/delete",
                json!({"trace_ids": ["a"], "delete_memories": 1}),
            ),
            "delete_memories",
        ),
        (other("/skill/create", json!({"n_passed": 101})), "n_passed"),
        (
            other("/skill/create", json!({"n_passed": 0, "n_failed": 0})),
            "n_passed",
        ),
        (other("/api-keys", json!({"scopes": []})), "label"),
        (
            other("/api-keys", json!({"label": " ", "scopes": []})),
            "label",
        ),
        (
            other("/api-keys", json!({"label": "l", "scopes": ["root"]})),
            "scopes",
        ),
        (other("/api-keys", json!({"label": "l"})), "scopes"),
        (
            other("/api-keys", json!({"label": "l", "scopes": []})),
            "scopes",
        ),
        (
            other(
                "/api-keys",
                json!({"label": "a\u{0}b", "scopes": ["trace:read"]}),
            ),
            "label",
        ),
        (
            other(
                "/api-keys",
                json!({"label": "l", "scopes": ["trace:read"], "environment": "moon"}),
            ),
            "environment",
        ),
    ];
    each_names_its_field(&service, cases).await;
}

#[tokio::test]
async fn parameters_are_checked_like_bodies() {
    let service = Service::start().await;
    let cases = [
        ("review_status=done", "review_status"),
        ("review_status=", "review_status"),
        ("limit=0", "limit"),
        ("limit=1001", "limit"),
        ("limit=ten", "limit"),
        ("limit=-1", "limit"),
        ("limit=99999999999", "limit"),
        ("before=unknown", "before"),
        ("limit=1&limit=2", "limit"),
    ];
    for (query, field) in cases {
        let answer = service.get(&at(&format!("/traces?{query}"))).await;
        assert_eq!(
            answer.status,
            StatusCode::UNPROCESSABLE_ENTITY,
            "{query}: {answer:?}"
        );
        assert_eq!(answer.body["field"], field, "{query}: {answer:?}");
    }
    // Unknown parameters are ignored.
    let unknown = service.get(&at("/traces?verbose=1&%00=%ff")).await;
    assert_eq!(unknown.status, StatusCode::OK, "{unknown:?}");
}

#[tokio::test]
async fn strange_ids_are_refused_and_never_fail() {
    let service = Service::start().await;
    for id in [
        "%00",
        "%2F..%2F",
        "%2e%2e",
        "%ff",
        "a%20b",
        "'%3B--",
        &"x".repeat(5_000),
    ] {
        for path in [format!("/traces/{id}"), format!("/traces/{id}/retry")] {
            let method = if path.ends_with("retry") {
                Method::POST
            } else {
                Method::GET
            };
            let answer = service.call(method, &at(&path), None).await;
            assert!(answer.status.is_client_error(), "{path}: {answer:?}");
        }
        let query = json!({"task": "t"});
        let path = format!("/v1/projects/{id}/memory/query");
        let answer = service.post(&path, query).await;
        assert!(!answer.status.is_server_error(), "{path}: {answer:?}");
    }
    let nul = service
        .post(&at("/traces"), json!({"task": "a\0b", "trajectory": "\0"}))
        .await;
    assert_eq!(nul.status, StatusCode::CREATED);
    let id = nul.body["trace_id"].as_str().unwrap();
    assert_eq!(
        service.get(&at(&format!("/traces/{id}"))).await.body["task"],
        "a\0b"
    );
}

#[tokio::test]
async fn invalid_idempotency_key_is_refused() {
    let service = Service::start().await;
    for key in [
        String::new(),
        " ".to_owned(),
        "x".repeat(256),
        "ü".to_owned(),
    ] {
        let request = Request::post(at("/traces"))
            .header("authorization", format!("Bearer {}", service.master))
            .header("idempotency-key", key.as_bytes())
            .body(Body::from(
                json!({"task": "t", "trajectory": "d"}).to_string(),
            ))
            .unwrap();
        let answer = service.send(request).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{key:?}");
        assert_eq!(answer.body["field"], "Idempotency-Key");
    }
}

fn merge(mut body: Value, change: Value) -> Value {
    let (Some(to), Value::Object(from)) = (body.as_object_mut(), change) else {
        unreachable!("both are objects");
    };
    to.extend(from);
    body
}

#[tokio::test]
async fn values_over_their_limits_are_refused() {
    let service = Service::start().await;
    let ids: Vec<String> = (0..1_001).map(|n| format!("t-{n}")).collect();
    let cases = [
        ("/traces/delete", json!({"trace_ids": ids}), "trace_ids"),
        (
            "/api-keys",
            json!({"label": "ü".repeat(201), "scopes": []}),
            "label",
        ),
    ];
    for (path, body, field) in cases {
        let refused = service.post(&at(path), body).await;
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert_eq!(refused.body["field"], field, "{refused:?}");
    }
    let long = json!({"label": "ü".repeat(200), "scopes": ["trace:read"]});
    let made = service.post(&at("/api-keys"), long).await;
    assert_eq!(made.status, StatusCode::CREATED);
    let many = json!({"trace_ids": ids[..1_000]});
    let gone = service.post(&at("/traces/delete"), many).await;
    assert_eq!(gone.body["deleted"], 0);
}

#[tokio::test]
async fn unknown_cursor_is_422() {
    let service = Service::start().await;
    service.trace("t").await;
    for (path, field) in [
        ("/traces?before=none", "before"),
        ("/memories?before=none", "before"),
        ("/archive/traces?after=none", "after"),
        ("/archive/memories?after=none", "after"),
        ("/archive/traces?after=%2e%2e", "after"),
        ("/archive/memories?after=%2e%2e", "after"),
    ] {
        let refused = service.get(&at(path)).await;
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{path}");
        assert_eq!(refused.body["field"], field, "{refused:?}");
        // A missing project has empty lists, but no archive.
        let nowhere = service.get(&format!("/v1/projects/nowhere{path}")).await;
        let is_cursor = path.ends_with("=none");
        let expected = if field == "after" && is_cursor {
            404
        } else {
            422
        };
        assert_eq!(nowhere.status, expected, "{path}");
    }
}

#[tokio::test]
async fn interrupted_body_is_400() {
    let service = Service::start().await;
    for path in ["/traces", "/archive"] {
        let broken = futures_util::stream::iter([
            Ok(b"{\"pieces\"".to_vec()),
            Err(std::io::Error::other("gone")),
        ]);
        let request = axum::http::Request::post(at(path))
            .header("authorization", format!("Bearer {}", service.master))
            .body(axum::body::Body::from_stream(broken))
            .unwrap();
        let refused = service.send(request).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{path}");
    }
}
