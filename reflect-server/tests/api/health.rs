//! `/health` tells whether runs can be stored, `/health/live` whether the process runs.

use std::sync::Arc;

use axum::http::StatusCode;
use reflect_engine::Engine;
use reflect_engine::store::Sqlite;
use reflect_server::Settings;

use super::support::{Service, at};

#[tokio::test]
async fn lost_database_is_not_ready_but_alive() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("reflect.db");
    let store = Arc::new(Sqlite::open(&file).unwrap());
    let engine = Engine::builder().store(store).start().unwrap();
    let service = Service::of(engine, Settings::default()).await;
    std::fs::remove_file(&file).unwrap();
    let unready = service.get("/health").await;
    assert_eq!(unready.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(unready.body["status"], "unavailable");
    assert_eq!(unready.code(), "unavailable");
    let reason = unready.body["reason"].as_str().unwrap();
    // SQLite may notice first.
    let lost = ["the database file is gone", "the disk failed"];
    assert!(lost.iter().any(|text| reason.contains(text)), "{reason}");
    let folder = folder.path().to_str().unwrap();
    assert!(!reason.contains(folder), "{reason}");
    assert!(unready.headers.contains_key("retry-after"));
    let run = serde_json::json!({"task": "t", "trajectory": "done"});
    let refused = service.post(&at("/traces"), run).await;
    assert_eq!(
        refused.status,
        StatusCode::SERVICE_UNAVAILABLE,
        "{refused:?}"
    );
    let alive = service.get("/health/live").await;
    assert_eq!(
        (alive.status, &alive.body["status"]),
        (StatusCode::OK, &"ok".into())
    );
}

#[tokio::test]
async fn server_that_shuts_down_is_not_ready() {
    let service = Service::start().await;
    assert_eq!(service.get("/health").await.body["status"], "ok");
    let stopped = Service::start().await;
    stopped.app.engine().shutdown().await.unwrap();
    let unready = stopped.get("/health").await;
    assert_eq!(unready.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(stopped.get("/health/live").await.status, StatusCode::OK);
}
