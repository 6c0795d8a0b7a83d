//! The engine with a model that is served over HTTP in this process and fails on demand.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failure ends the run"
)]

#[path = "../common/mod.rs"]
mod common;

mod embeddings;
mod judging;
mod outages;
mod reflections;
mod reviews;
mod skills;

use std::sync::Arc;
use std::time::Duration;

use reflect_engine::model::LlmReflectionWriter;
use reflect_engine::{Builder, Engine};
use reflect_model_server::{Act, ModelRequest, ModelServer};
use reflect_models::Client;
use reflect_types::{CreateTrace, IngestStatus, Review, Trace};
use serde_json::json;

use common::{Home, eventually, project, run};

/// A well-formed answer.
fn good(_: &ModelRequest) -> Act {
    let reflection = json!({
        "summary": "A refund was asked for; the order was too old.",
        "key_mistake": "Refunded without looking at the date.",
        "correct_action": "Decline with the reason.",
        "guidance": "Call get_order first; refund only orders of at most 30 days.",
        "applicable_tools": ["get_order"],
    });
    Act::Say(format!("```json\n{reflection}\n```"))
}

async fn server(acts: impl IntoIterator<Item = Act>) -> ModelServer {
    let server = ModelServer::start(good).await.unwrap();
    server.first(acts);
    server
}

fn client(server: &ModelServer) -> Client {
    client_within(server, Duration::from_secs(60))
}

fn client_within(server: &ModelServer, timeout: Duration) -> Client {
    let client = Client::builder("test-model").base_url(server.url());
    let client = client.backoff(Duration::from_millis(1), Duration::from_millis(100));
    client.timeout(timeout).attempts(1).build().unwrap()
}

fn with_model(home: &Home, server: &ModelServer) -> Builder {
    home.builder()
        .reflector(Arc::new(LlmReflectionWriter::new(client(server))))
}

fn reviewed(task: &str, review: Review) -> CreateTrace {
    CreateTrace {
        review: Some(review),
        ..run(task)
    }
}

async fn memory_of(engine: &Engine, trace: &Trace) -> reflect_types::MemoryRecord {
    let id = trace.created_memory_id.clone().unwrap();
    engine.get_memory(&project(), &id).await.unwrap().memory
}

/// Whether the three background tasks of an engine are asleep. One that works would lose its lease if the
/// clock advanced.
fn is_idle(home: &Home) -> bool {
    home.clock.sleepers() >= 3
}

/// The trace after its ingestion, with the clock advanced past all waits between attempts.
async fn given_time(home: &Home, engine: &Engine, id: &reflect_types::TraceId) -> Trace {
    eventually(async || {
        let trace = engine.get_trace(&project(), id).await.unwrap();
        let ended = matches!(
            trace.ingest_status,
            IngestStatus::Failed | IngestStatus::Completed
        );
        if trace.ingest_status == IngestStatus::Queued && is_idle(home) {
            home.clock.advance(Duration::from_secs(5));
        }
        ended.then_some(trace)
    })
    .await
}
