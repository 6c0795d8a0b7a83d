//! How the cost of a request grows with the number of clients and the size of a run, and what requests of all kinds
//! at once cost each other.

use std::time::Duration;

use serde_json::Value;

use super::requests::{Load, Taken, send};
use super::server::Server;
use super::tasks::{query, reviewed, trace, trace_of_size};
use super::{CONNECTIONS, rate};

const CLIENTS: [usize; 5] = [1, 4, 16, 64, 256];
/// In kilobytes.
const SIZES: [usize; 4] = [1, 16, 128, 1_000];
/// Few, so that large runs do not wait for each other's bytes.
const SENDERS: usize = 8;

/// Requests of all kinds are sent for so many times as long, because the bank grows meanwhile.
const MIXED: u32 = 12;

/// Measures each for that long.
pub(super) async fn run(time: Duration) {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path().join("reflect.db"), &[]);
    let servers = [server.address.clone()];
    println!("Clients that store traces of 4 kB");
    for clients in CLIENTS {
        let taken = send(load("/traces", trace, clients), &servers, time).await;
        show(&format!("{clients} clients"), &taken, time);
    }
    println!("\nRuns by their size, {SENDERS} clients");
    for kilobytes in SIZES {
        let taken = send(
            load("/traces", move |n| trace_of_size(n, kilobytes), SENDERS),
            &servers,
            time,
        )
        .await;
        show(&format!("{kilobytes} kB"), &taken, time);
    }
    let time = time * MIXED;
    println!(
        "\nAll kinds at once for {} s, {CONNECTIONS} clients",
        time.as_secs()
    );
    let (stored, learned, queried) = tokio::join!(
        send(load("/traces", trace, CONNECTIONS / 2), &servers, time),
        send(load("/traces", reviewed, CONNECTIONS / 4), &servers, time),
        send(
            load("/memory/query", query, CONNECTIONS / 4),
            &servers,
            time
        ),
    );
    show("store a trace of 4 kB", &stored, time);
    show("store a reviewed trace", &learned, time);
    show("query memories", &queried, time);
}

fn load(
    path: &'static str,
    body: impl Fn(usize) -> Value + Send + Sync + 'static,
    connections: usize,
) -> Load {
    Load {
        path,
        body: Box::new(move |n| body(n).to_string()),
        connections,
    }
}

fn show(what: &str, taken: &Taken, time: Duration) {
    println!(
        "{what:<24} {:>8.0}/s {:>9.2} ms p50 {:>9.2} ms p99",
        rate(taken.count(), time),
        taken.at(50),
        taken.at(99)
    );
}
