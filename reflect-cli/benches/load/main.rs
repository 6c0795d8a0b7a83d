//! Load test: server processes with 64 busy connections.
//!
//! `cargo bench -p reflect-cli --bench load -- 60` runs each kind of request for 60 seconds
//! (3 by default) and fails if any request fails. `-- growth` varies the number of clients and the size of runs,
//! and mixes all kinds of requests. `-- scale` compares SQLite with one to three servers on
//! the PostgreSQL of `DATABASE_URL`, and writes the table of `docs/scale.md`: `cargo xtask bench scale`.

#![expect(clippy::unwrap_used, reason = "a bench may")]

mod fill;
mod growth;
mod meter;
mod requests;
mod scale;
mod server;

use std::time::{Duration, Instant};

use requests::Load;
use serde_json::{Value, json};
use server::Server;

const CONNECTIONS: usize = 64;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let seconds = std::env::args().find_map(|argument| argument.parse().ok());
    let time = Duration::from_secs(seconds.unwrap_or(3));
    if std::env::args().any(|argument| argument == "scale") {
        return scale::run(time).await;
    }
    if std::env::args().any(|argument| argument == "growth") {
        return growth::run(time).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let begun = Instant::now();
    let server = Server::start(folder.path().join("reflect.db"), &[]);
    let ready = begun.elapsed();
    println!("ready after {} ms   (goal: 200)", ready.as_millis());
    // Ten times as long without optimisation.
    let most = if cfg!(debug_assertions) { 2_000 } else { 200 };
    assert!(
        ready < Duration::from_millis(most),
        "the start took too long"
    );
    let idle = server.resident();
    println!("idle, {} MB resident   (goal: 20)", told(idle));
    assert!(idle.is_none_or(|megabytes| megabytes <= 60));

    let query = json!({"task": "Refund order 8", "limit": 10});
    for (what, path, body, connections) in [
        ("store a trace of 4 kB", "/traces", trace(), CONNECTIONS),
        ("store a reviewed trace", "/traces", reviewed(), CONNECTIONS),
        (
            "query memories",
            "/memory/query",
            query.clone(),
            CONNECTIONS,
        ),
        ("query memories, one by one", "/memory/query", query, 1),
    ] {
        let body = body.to_string();
        let load = Load {
            path,
            body: Box::new(move |_| body.clone()),
            connections,
        };
        let servers = [server.address.clone()];
        let taken = requests::send(load, &servers, time).await;
        println!(
            "{what}: {:.0}/s, median {:.2} ms, p99 {:.2} ms, {} requests, no errors",
            rate(taken.count(), time),
            taken.at(50),
            taken.at(99),
            taken.count()
        );
    }
    println!("afterwards, {} MB resident", told(server.resident()));
}

/// A trace of 4 kB.
fn trace() -> Value {
    let words = "The customer asked for a refund of an order that came late. ".repeat(60);
    json!({
        "task": "Refund an order that came late", "metadata": {"team": "eu"},
        "trajectory": [{"role": "user", "content": words}, {"role": "assistant", "content": "Done."}],
    })
}

/// The same with a review.
fn reviewed() -> Value {
    let mut reviewed = trace();
    reviewed["review"] = json!({"result": "fail", "feedback_text": "It was too late"});
    reviewed
}

#[expect(clippy::cast_precision_loss, reason = "a rate")]
fn rate(count: usize, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64()
}

fn told(megabytes: Option<u64>) -> String {
    megabytes.map_or_else(|| "?".to_owned(), |megabytes| megabytes.to_string())
}
