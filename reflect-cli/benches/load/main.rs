//! Load test: server processes with 64 busy connections.
//!
//! `cargo xtask bench load 60` runs each kind of request for 60 seconds (3 by default), queries at 10,000 and at 100,000
//! memories, and fails if any request fails. `growth` varies the number of clients and the size of runs, and mixes all kinds
//! of requests. `scale` compares SQLite with one to three servers on the PostgreSQL of `DATABASE_URL`, and writes the
//! table of `docs/design/serving.md`: `cargo xtask bench scale`.

#![expect(clippy::unwrap_used, reason = "a bench may")]

mod fill;
mod growth;
mod learning;
mod meter;
mod requests;
mod scale;
mod server;
mod step;
mod tasks;

use std::slice;
use std::time::{Duration, Instant};

use learning::learn;
use meter::Meter;
use requests::Load;
use server::Server;
use step::{limit, step};
use tasks::{query, trace};

const CONNECTIONS: usize = 64;
/// The memories that are queried: a tenth without optimisation.
const MEMORIES: [usize; 2] = if cfg!(debug_assertions) {
    [1_000, 10_000]
} else {
    [10_000, 100_000]
};

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
    let most = if cfg!(debug_assertions) { 60 } else { 20 };
    assert!(
        idle.is_none_or(|megabytes| megabytes <= most),
        "the idle server takes more than {most} MB"
    );

    let what = format!("store 4 kB, {CONNECTIONS} clients");
    let load = Load::new("/traces", trace, CONNECTIONS);
    step(&what, load, &server, time).await;
    let mut learned = 0;
    for memories in MEMORIES {
        let meter = Meter::start(slice::from_ref(&server));
        let begun = Instant::now();
        let address = slice::from_ref(&server.address);
        let count = learn(address, learned..memories, Duration::MAX).await;
        let (rate, used) = (
            rate(count, begun.elapsed()),
            meter.used(slice::from_ref(&server)),
        );
        println!(
            "\n{memories} memories: {rate:.0} learned reviews/s   {}",
            limit(&used)
        );
        learned = memories;
        let queries = |connections| Load::new("/memory/query", query, connections);
        let begun = Instant::now();
        requests::send(queries(1), address, Duration::ZERO).await;
        println!(
            "first query after {:.0} ms",
            begun.elapsed().as_secs_f64() * 1e3
        );
        step("query, one by one", queries(1), &server, time).await;
        let what = format!("query, {CONNECTIONS} clients");
        step(&what, queries(CONNECTIONS), &server, time).await;
        println!("{} MB resident", told(server.resident()));
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rate")]
fn rate(count: usize, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64()
}

fn told(megabytes: Option<u64>) -> String {
    megabytes.map_or_else(|| "?".to_owned(), |megabytes| megabytes.to_string())
}
