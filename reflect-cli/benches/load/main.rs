//! Load test: server processes with 64 busy connections.
//!
//! `cargo bench --workspace --bench load -- 60` runs each kind of request for 60 seconds
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
mod tasks;

use std::time::{Duration, Instant};

use requests::Load;
use serde_json::Value;
use server::Server;
use tasks::{query, reviewed, trace};

const CONNECTIONS: usize = 64;

/// The body of the request of a number.
type Body = fn(usize) -> Value;

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
    // The first start may have to read the program from the disk.
    drop(Server::start(folder.path().join("first.db"), &[]));
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
    // A program without optimisation is larger.
    let most = if cfg!(debug_assertions) { 60 } else { 25 };
    assert!(
        idle.is_none_or(|megabytes| megabytes <= most),
        "the idle server takes more than {most} MB"
    );

    let steps: [(&str, &'static str, Body, usize); 4] = [
        ("store a trace of 4 kB", "/traces", trace, CONNECTIONS),
        ("store a reviewed trace", "/traces", reviewed, CONNECTIONS),
        ("query memories", "/memory/query", query, CONNECTIONS),
        ("query memories, one by one", "/memory/query", query, 1),
    ];
    for (what, path, body, connections) in steps {
        let load = Load {
            path,
            body: Box::new(move |n| body(n).to_string()),
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

#[expect(clippy::cast_precision_loss, reason = "a rate")]
fn rate(count: usize, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64()
}

fn told(megabytes: Option<u64>) -> String {
    megabytes.map_or_else(|| "?".to_owned(), |megabytes| megabytes.to_string())
}
