//! Queued, failed and retried ingestions.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use axum::http::StatusCode;
use reflect_engine::Engine;
use reflect_engine::model::{Error, JudgedRun, Reflection, ReflectionWriter};
use reflect_server::Settings;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::support::{Service, at};

/// A writer that blocks until released, and fails permanently until repaired.
#[derive(Default)]
struct Stubborn {
    go: Notify,
    mended: AtomicBool,
}

#[async_trait]
impl ReflectionWriter for Stubborn {
    fn id(&self) -> &'static str {
        "stubborn"
    }

    async fn reflect(&self, _: &JudgedRun<'_>) -> Result<Reflection, Error> {
        self.go.notified().await;
        if self.mended.load(Ordering::SeqCst) {
            return Ok(Reflection {
                summary: "It works".to_owned(),
                ..Reflection::default()
            });
        }
        Err(Error {
            message: "the model wants to be paid".to_owned(),
            retryable: false,
            source: None,
        })
    }
}

async fn until(service: &Service, id: &str, status: &str) -> Value {
    let reached = async {
        loop {
            let trace = service.get(&at(&format!("/traces/{id}"))).await.body;
            if trace["ingest_status"] == status {
                return trace;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), reached)
        .await
        .unwrap()
}

#[tokio::test]
async fn queued_review_is_a_conflict_and_a_failed_one_can_be_retried() {
    let reflector = Arc::new(Stubborn::default());
    let engine = Engine::builder().reflector(Arc::clone(&reflector) as Arc<dyn ReflectionWriter>);
    let service = Service::of(engine.start().unwrap(), Settings::default()).await;
    let run = json!({"task": "t", "trajectory": "d", "review": {"result": "pass"}});
    let sent = service.post(&at("/traces"), run).await;
    let id = sent.body["trace_id"].as_str().unwrap();
    let (review, retry) = (
        at(&format!("/traces/{id}/review")),
        at(&format!("/traces/{id}/retry")),
    );
    let waiting = service.post(&review, json!({"result": "pass"})).await;
    assert_eq!(
        (waiting.status, waiting.code()),
        (StatusCode::CONFLICT, "conflict")
    );

    reflector.go.notify_one();
    let failed = until(&service, id, "failed").await;
    assert_eq!(failed["review_status"], "pending");
    assert_eq!(failed["ingest_attempts"], 1);
    let reason = failed["last_ingest_error"].as_str().unwrap();
    assert!(reason.contains("paid"), "{reason}");

    reflector.mended.store(true, Ordering::SeqCst);
    let queued = service.post(&retry, json!({})).await;
    assert_eq!(queued.status, StatusCode::ACCEPTED);
    assert_eq!(
        queued.body,
        json!({"trace_id": id, "ingest_status": "queued"})
    );
    assert_eq!(
        service.post(&retry, json!({})).await.status,
        StatusCode::CONFLICT
    );
    reflector.go.notify_one();
    let done = until(&service, id, "completed").await;
    assert!(done["created_memory_id"].is_string());
}

#[tokio::test]
async fn a_model_that_refuses_a_deferred_review_is_a_502_that_says_why() {
    let reflector = Arc::new(Stubborn::default());
    let engine = Engine::builder().reflector(Arc::clone(&reflector) as Arc<dyn ReflectionWriter>);
    let service = Service::of(engine.start().unwrap(), Settings::default()).await;
    let id = service.trace("t").await;
    reflector.go.notify_one();
    let failed = service
        .post(
            &at(&format!("/traces/{id}/review")),
            json!({"result": "pass"}),
        )
        .await;
    assert_eq!(
        (failed.status, failed.code()),
        (StatusCode::BAD_GATEWAY, "model_failed")
    );
    assert!(failed.body.to_string().contains("paid"), "{failed:?}");
    // The review is stored with the error, and can be retried.
    let kept = service.get(&at(&format!("/traces/{id}"))).await.body;
    assert_eq!(kept["review"]["result"], "pass");
    assert_eq!(kept["review_status"], "pending");
    assert_eq!(kept["ingest_status"], "failed");
}
