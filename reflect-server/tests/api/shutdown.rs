//! Shutdown while a model does not reply.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use reflect_engine::Engine;
use reflect_engine::model::{Error, JudgedRun, Reflection, ReflectionWriter};
use reflect_server::{Settings, serve_until};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use super::support::{Service, at};

/// A writer that never replies, and signals its calls.
#[derive(Default)]
struct Silent {
    asked: Notify,
}

#[async_trait]
impl ReflectionWriter for Silent {
    fn id(&self) -> &'static str {
        "silent"
    }

    async fn reflect(&self, _: &JudgedRun<'_>) -> Result<Reflection, Error> {
        self.asked.notify_one();
        std::future::pending().await
    }
}

/// The duration of a shutdown during a model call, with a second signal after `hurry`.
async fn time_to_end(hurry: Duration) -> Duration {
    let writer = Arc::new(Silent::default());
    let engine = Engine::builder().reflector(writer.clone()).start().unwrap();
    let service = Service::of(engine, Settings::default()).await;
    let run = json!({"task": "t", "trajectory": "done", "review": {"result": "pass"}});
    let stored = service.post(&at("/traces"), run).await;
    assert_eq!(stored.status, 202, "{stored:?}");
    writer.asked.notified().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let start = Instant::now();
    serve_until(listener, service.app.clone(), async {}, sleep(hurry)).await;
    start.elapsed()
}

/// On the real clock: a paused one would skip to the end of the wait while the store's thread works.
#[tokio::test]
async fn second_signal_ends_the_wait_for_a_model() {
    const GRACE: Duration = Duration::from_secs(5);

    let later = Duration::from_millis(200);
    let (at_once, soon, never) = tokio::join!(
        time_to_end(Duration::ZERO),
        time_to_end(later),
        time_to_end(Duration::MAX),
    );
    assert!(at_once < GRACE, "{at_once:?}");
    assert!((later..GRACE).contains(&soon), "{soon:?}");
    // Without a second signal, the shutdown waits for the model.
    assert!(never >= GRACE, "{never:?}");
}
