//! Requests that never reach a tool: of strangers, and malformed ones.

use axum::body::Body;
use axum::http::{HeaderValue, Request, StatusCode};
use reflect_server::Settings;
use reflect_types::Scope;
use serde_json::json;

use crate::support::{PROJECT, Service};

fn list_tools() -> axum::http::request::Builder {
    Request::post("/mcp")
        .header("host", "localhost:8000")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
}

async fn status(service: &Service, request: axum::http::request::Builder) -> StatusCode {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
    let request = request.body(Body::from(body.to_string())).unwrap();
    let answer = service.send(request).await;
    if answer.status == StatusCode::FORBIDDEN {
        assert_eq!(answer.code(), "forbidden");
    }
    answer.status
}

#[tokio::test]
async fn unknown_keys_projects_hosts_and_origins_are_refused() {
    let settings = Settings {
        allowed_origins: vec!["https://app.example.com:443".to_owned()],
        ..Settings::default()
    };
    let service = Service::with(settings).await;
    let key = service.key(PROJECT, Scope::KNOWN).await;
    let bearer = format!("Bearer {key}");
    let with_key = || list_tools().header("authorization", &bearer);
    assert_eq!(status(&service, with_key()).await, StatusCode::OK);
    assert_eq!(
        status(&service, list_tools()).await,
        StatusCode::UNAUTHORIZED
    );
    let other = with_key().header("x-project-id", "other");
    assert_eq!(status(&service, other).await, StatusCode::FORBIDDEN);
    let master = format!("Bearer {}", service.master);
    let any_name = || list_tools().header("authorization", &master);
    let named = any_name().header("x-project-id", "größe".as_bytes());
    assert_eq!(status(&service, named).await, StatusCode::OK);
    let garbled = any_name().header("x-project-id", &b"gr\xf6\xdfe"[..]);
    assert_eq!(
        status(&service, garbled).await,
        StatusCode::UNPROCESSABLE_ENTITY
    );
    let page = with_key().header("origin", "https://evil.example");
    assert_eq!(status(&service, page).await, StatusCode::FORBIDDEN);
    let page = with_key().header("origin", "https://app.example.com");
    assert_eq!(status(&service, page).await, StatusCode::OK);
    let mut rebound = with_key();
    rebound
        .headers_mut()
        .unwrap()
        .insert("host", HeaderValue::from_static("evil.example"));
    assert_eq!(status(&service, rebound).await, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn malformed_body_has_the_usual_errors() {
    let settings = Settings {
        body_limit: 1_000,
        ..Settings::default()
    };
    let service = Service::with(settings).await;
    for (body, code) in [
        ("{".to_owned(), "malformed_json"),
        (String::new(), "malformed_json"),
        ("[]".to_owned(), "malformed_json"),
        (
            json!([{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}]).to_string(),
            "malformed_json",
        ),
        (r#"{"a": 1}"#.to_owned(), "malformed_json"),
        ("x".repeat(2_000), "too_large"),
    ] {
        let answer = service
            .send(
                Request::post("/mcp")
                    .header("host", "localhost")
                    .header("content-type", "application/json")
                    .header("authorization", format!("Bearer {}", service.master))
                    .body(Body::from(body))
                    .unwrap(),
            )
            .await;
        assert_eq!(answer.body["code"], code, "{:?}", answer.body);
    }
}
