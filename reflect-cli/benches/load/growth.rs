//! How the cost of a request grows with the number of clients and the size of a run, and what requests of all kinds
//! at once cost each other.

use std::slice;
use std::time::{Duration, Instant};

use super::learning::learned_from_all;
use super::meter::Meter;
use super::requests::{Load, send};
use super::server::Server;
use super::step::{show, step};
use super::tasks::{query, reviewed, trace, trace_of_size};
use super::{CONNECTIONS, told};

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
    println!("Clients that store traces of 4 kB");
    for clients in CLIENTS {
        let load = Load::new("/traces", trace, clients);
        step(&format!("{clients} clients"), load, &server, time).await;
    }
    println!("\nRuns by their size, {SENDERS} clients");
    for kilobytes in SIZES {
        let body = move |n| trace_of_size(n, kilobytes);
        let load = Load::new("/traces", body, SENDERS);
        step(&format!("{kilobytes} kB"), load, &server, time).await;
    }
    let time = time * MIXED;
    println!(
        "\nAll kinds at once for {} s, {CONNECTIONS} clients",
        time.as_secs()
    );
    let meter = Meter::start(slice::from_ref(&server));
    let loads = [
        Load::new("/traces", trace, CONNECTIONS / 2),
        Load::new("/traces", reviewed, CONNECTIONS / 4),
        Load::new("/memory/query", query, CONNECTIONS / 4),
    ];
    let servers = slice::from_ref(&server.address);
    let [stored, learned, queried] = loads.map(|load| send(load, servers, time));
    let (stored, learned, queried) = tokio::join!(stored, learned, queried);
    let used = meter.used(slice::from_ref(&server));
    show("store a trace of 4 kB", &stored, time, &used);
    show("store a reviewed trace", &learned, time, &used);
    show("query memories", &queried, time, &used);
    let ended = Instant::now();
    learned_from_all(&server.address).await;
    println!(
        "all reviews were learned from {:.1} s after the last request; {} MB resident",
        ended.elapsed().as_secs_f64(),
        told(server.resident())
    );
}
