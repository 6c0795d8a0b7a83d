use std::num::NonZeroU32;

use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use reflect_server::Settings;
use reflect_types::Scope;
use serde_json::json;

use super::support::{BOOTSTRAP, PROJECT, Service, at};

#[tokio::test]
async fn a_body_over_the_limit_is_413_with_and_without_a_declared_length() {
    let settings = Settings {
        body_limit: 1_000,
        ..Settings::default()
    };
    let service = Service::with(settings).await;
    let body = json!({"task": "t", "trajectory": "x".repeat(1_000)}).to_string();
    let chunks = body
        .as_bytes()
        .chunks(100)
        .map(<[u8]>::to_vec)
        .map(Ok::<_, std::io::Error>);
    let chunked = Body::from_stream(futures_util::stream::iter(chunks.collect::<Vec<_>>()));
    for body in [Body::from(body.clone()), chunked] {
        let request = Request::post(at("/traces"))
            .header("authorization", format!("Bearer {}", service.master))
            .body(body)
            .unwrap();
        let answer = service.send(request).await;
        assert_eq!(
            (answer.status, answer.code()),
            (StatusCode::PAYLOAD_TOO_LARGE, "too_large")
        );
    }
    // Authentication comes first.
    let stranger = service
        .call_as(
            None,
            Method::POST,
            &at("/traces"),
            Some(json!("x".repeat(2_000))),
        )
        .await;
    assert_eq!(stranger.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn default_body_limit_is_eight_mebibytes() {
    let service = Service::start().await;
    let body = json!({"task": "t", "trajectory": "x".repeat(8 * 1024 * 1024 - 100)});
    assert_eq!(
        service.post(&at("/traces"), body).await.status,
        StatusCode::CREATED
    );
    let body = json!({"task": "t", "trajectory": "x".repeat(8 * 1024 * 1024)});
    assert_eq!(
        service.post(&at("/traces"), body).await.status,
        StatusCode::PAYLOAD_TOO_LARGE
    );
}

#[tokio::test]
async fn a_key_over_its_rate_limit_is_429_with_retry_after() {
    let settings = Settings {
        rate_limit: NonZeroU32::new(1),
        ..Settings::default()
    };
    let service = Service::with(settings).await;
    let key = service.key(PROJECT, &[Scope::TraceRead]).await;
    let mut last = service
        .call_as(Some(&key), Method::GET, &at("/traces"), None)
        .await;
    assert_eq!(last.status, StatusCode::OK);
    // The second request within a second is over the limit.
    for _ in 0..100 {
        last = service
            .call_as(Some(&key), Method::GET, &at("/traces"), None)
            .await;
        if last.status != StatusCode::OK {
            break;
        }
    }
    assert_eq!(
        (last.status, last.code()),
        (StatusCode::TOO_MANY_REQUESTS, "rate_limited")
    );
    assert_eq!(last.headers["retry-after"], "1");
    assert_eq!(service.get(&at("/traces")).await.status, StatusCode::OK);
}

#[tokio::test]
async fn more_requests_than_there_are_places_for_are_503() {
    let settings = Settings {
        max_in_flight: 0,
        ..Settings::default()
    };
    let service = Service::with(settings).await;
    let refused = service.get(&at("/traces")).await;
    assert_eq!(
        (refused.status, refused.code()),
        (StatusCode::SERVICE_UNAVAILABLE, "unavailable")
    );
    assert!(refused.headers.contains_key("retry-after"));
    // Monitoring works under load.
    for path in ["/health", "/metrics"] {
        assert_eq!(service.get(path).await.status, StatusCode::OK, "{path}");
    }
}

/// A body that has sent these bytes and never ends. The receiver resolves when they have been read.
fn unfinished(bytes: usize) -> (Body, tokio::sync::oneshot::Receiver<()>) {
    let (sender, read) = tokio::sync::oneshot::channel();
    let first =
        futures_util::stream::once(async move { Ok::<_, std::io::Error>(vec![b' '; bytes]) });
    let rest = futures_util::stream::once(async move {
        sender.send(()).unwrap();
        std::future::pending().await
    });
    let body = futures_util::StreamExt::chain(first, rest);
    (Body::from_stream(body), read)
}

#[tokio::test]
async fn bodies_are_limited_in_all() {
    let settings = Settings {
        body_limit: 1_000,
        ..Settings::default()
    };
    let service = Service::with(settings).await;
    let mut unfinished_requests = Vec::new();
    for _ in 0..16 {
        let (body, read) = unfinished(1_000);
        let request = Request::post(at("/traces"))
            .header("authorization", format!("Bearer {}", service.master))
            .body(body)
            .unwrap();
        let router = service.router.clone();
        let sent = tokio::spawn(tower::ServiceExt::oneshot(router, request));
        read.await.unwrap();
        unfinished_requests.push(sent);
    }
    let run = json!({"task": "t", "trajectory": "done"});
    let refused = service.post(&at("/traces"), run.clone()).await;
    assert_eq!(
        (refused.status, refused.code()),
        (StatusCode::SERVICE_UNAVAILABLE, "unavailable")
    );
    assert!(refused.headers.contains_key("retry-after"));
    // Requests without a body need no room.
    assert_eq!(service.get(&at("/traces")).await.status, StatusCode::OK);
    let ended = unfinished_requests.pop().unwrap();
    ended.abort();
    assert!(ended.await.unwrap_err().is_cancelled());
    let stored = service.post(&at("/traces"), run).await;
    assert_eq!(stored.status, StatusCode::CREATED);
}

#[tokio::test]
async fn wrong_bootstrap_tokens_leave_the_rate_limit_to_the_right_one() {
    let settings = Settings {
        rate_limit: NonZeroU32::new(1),
        bootstrap_token: Some(BOOTSTRAP.into()),
        ..Settings::default()
    };
    let service = Service::with(settings).await;
    let bootstrap = async |token: &str| {
        let body = json!({"user_id": "u", "project_id": "p", "key_label": "l"});
        let request = Request::post("/v1/bootstrap")
            .header("x-bootstrap-token", token)
            .body(Body::from(body.to_string()))
            .unwrap();
        service.send(request).await
    };
    for _ in 0..3 {
        assert_eq!(bootstrap("wrong").await.status, StatusCode::UNAUTHORIZED);
    }
    let created = bootstrap(BOOTSTRAP).await;
    assert_eq!(created.status, StatusCode::CREATED, "{created:?}");
}

#[tokio::test]
async fn body_that_never_arrives_times_out() {
    let settings = Settings {
        request_timeout: std::time::Duration::from_millis(20),
        ..Settings::default()
    };
    let service = Service::with(settings).await;
    let never = Body::from_stream(futures_util::stream::pending::<
        Result<Vec<u8>, std::io::Error>,
    >());
    let request = Request::post(at("/traces"))
        .header("authorization", format!("Bearer {}", service.master))
        .body(never)
        .unwrap();
    let answer = service.send(request).await;
    assert_eq!(
        (answer.status, answer.code()),
        (StatusCode::GATEWAY_TIMEOUT, "timeout")
    );
}

#[tokio::test]
async fn a_server_that_shuts_down_is_503() {
    let service = Service::start().await;
    service.app.engine().shutdown().await.unwrap();
    let refused = service.get(&at("/traces")).await;
    assert_eq!(
        (refused.status, refused.code()),
        (StatusCode::SERVICE_UNAVAILABLE, "unavailable")
    );
    assert!(refused.headers.contains_key("retry-after"));
}

#[tokio::test]
async fn request_keeps_its_id_or_gets_one() {
    let service = Service::start().await;
    let given = Request::get("/health")
        .header("x-request-id", "abc-1")
        .body(Body::empty())
        .unwrap();
    assert_eq!(service.send(given).await.headers["x-request-id"], "abc-1");
    for bad in ["", "a b", &"x".repeat(200)] {
        let request = Request::get("/health")
            .header("x-request-id", bad)
            .body(Body::empty())
            .unwrap();
        let id = service.send(request).await.headers["x-request-id"].clone();
        assert_eq!(id.len(), 36, "{id:?}");
    }
    assert_eq!(
        service.get("/nowhere").await.headers["x-request-id"].len(),
        36
    );
}

#[tokio::test]
async fn metrics_count_routes_and_name_no_project() {
    let service = Service::start().await;
    service.get(&at("/traces")).await;
    service.get("/v1/projects/hidden/traces/made-up").await;
    let metrics = service.get("/metrics").await;
    let text = metrics.body.as_str().unwrap();
    let line = r#"reflect_http_requests_total{method="GET",route="/v1/projects/{project_id}/traces",status="200"} 1"#;
    assert!(text.contains(line), "{text}");
    assert!(text.contains("reflect_http_request_duration_seconds_bucket"));
    assert!(text.contains("reflect_http_requests_in_flight 1"));
    assert!(text.contains("reflect_store_reachable 1"), "{text}");
    assert!(text.contains(r#"reflect_queue_jobs{kind="reflection"} 0"#));
    assert!(text.contains("reflect_indexes 0") && !text.contains("database_connections"));
    assert!(
        !text.contains("hidden") && !text.contains(PROJECT),
        "{text}"
    );
}
