//! Shutdown while a model does not reply.

use std::sync::Arc;

use async_trait::async_trait;
use reflect_engine::Engine;
use reflect_engine::model::{Error, JudgedRun, Reflection, ReflectionWriter};
use reflect_server::{Settings, serve_until};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

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

/// A service that waits for a model.
async fn busy() -> Service {
    let writer = Arc::new(Silent::default());
    let engine = Engine::builder().reflector(writer.clone()).start().unwrap();
    let service = Service::of(engine, Settings::default()).await;
    let run = json!({"task": "t", "trajectory": "done", "review": {"result": "pass"}});
    let stored = service.post(&at("/traces"), run).await;
    assert_eq!(stored.status, 202, "{stored:?}");
    writer.asked.notified().await;
    service
}

#[tokio::test]
async fn second_signal_ends_the_wait_for_a_model() {
    let (patient, hurried) = (busy().await, busy().await);
    let listen = async || TcpListener::bind("127.0.0.1:0").await.unwrap();
    let listeners = [listen().await, listen().await];
    let addresses = listeners
        .each_ref()
        .map(|listener| listener.local_addr().unwrap());
    // Both have begun to shut down when they accept no more.
    let both_wait = async {
        for address in addresses {
            while TcpStream::connect(address).await.is_ok() {
                tokio::task::yield_now().await;
            }
        }
    };
    let [one, other] = listeners;
    let never = std::future::pending();
    tokio::select! {
        () = serve_until(one, patient.app.clone(), async {}, never) => panic!("it did not wait"),
        () = serve_until(other, hurried.app.clone(), async {}, both_wait) => {}
    }
}
