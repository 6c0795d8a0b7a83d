//! SQLite beside PostgreSQL with one, two and three servers.

use std::time::{Duration, Instant};

use reflect_engine::store::scratch_database;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::requests::{self, Load, Taken};
use crate::server::{self, KEY, Server};
use crate::{CONNECTIONS, rate, reviewed, trace};

/// The memories that are queried.
const MEMORIES: usize = 10_000;

/// What one arrangement does.
struct Measured {
    /// Durable traces a second.
    ingest: f64,
    /// Reviewed traces a second that were stored and learned from.
    learned: f64,
    /// Queries a second of many connections.
    queries: f64,
    /// The median of queries one by one, in milliseconds.
    query: f64,
    /// The processors that servers and database used in each step.
    used: [(f64, f64); 4],
}

pub(crate) async fn run(time: Duration) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("reflect.db");
    println!(
        "{CONNECTIONS} connections, {} s a step, {MEMORIES} memories; in brackets: processors used by \
         the servers + by PostgreSQL",
        time.as_secs()
    );
    println!(
        "{:<16}{:>28}{:>28}{:>28}{:>28}",
        "", "traces/s", "learned/s", "queries/s", "query, ms"
    );
    let sqlite = measure(&[Server::start(&file)], time).await;
    print("SQLite", &sqlite, &sqlite);
    for count in 1..=3 {
        let address = scratch_database("scale").await;
        let servers: Vec<Server> = (0..count).map(|_| Server::start(&address)).collect();
        let measured = measure(&servers, time).await;
        print(&format!("PostgreSQL, {count}"), &measured, &sqlite);
    }
}

fn print(name: &str, measured: &Measured, sqlite: &Measured) {
    let columns = [
        (measured.ingest, sqlite.ingest, 0),
        (measured.learned, sqlite.learned, 0),
        (measured.queries, sqlite.queries, 0),
        (measured.query, sqlite.query, 2),
    ];
    print!("{name:<16}");
    for ((value, base, digits), (servers, database)) in columns.into_iter().zip(measured.used) {
        let text = format!(
            "{value:.digits$} ({:.2}x) [{servers:.1}+{database:.1}]",
            value / base
        );
        print!("{text:>28}");
    }
    println!();
}

async fn measure(servers: &[Server], time: Duration) -> Measured {
    let addresses: Vec<String> = servers
        .iter()
        .map(|server| server.address.clone())
        .collect();
    let mut used = Vec::new();
    let begun = Meter::start(servers);
    let stored = step(
        &addresses,
        "/traces",
        |_| trace().to_string(),
        CONNECTIONS,
        time,
    )
    .await;
    used.push(begun.used(servers));

    let begun = Meter::start(servers);
    let (mut learned, mut took) = (0, Duration::ZERO);
    // Until there are enough memories to query.
    while learned < MEMORIES {
        let from = learned;
        let start = Instant::now();
        let body = move |n| {
            let mut reviewed = reviewed();
            reviewed["task"] = format!("Refund order {} of customer {}", from + n, n % 97).into();
            reviewed.to_string()
        };
        learned += step(&addresses, "/traces", body, CONNECTIONS, time)
            .await
            .count();
        while waiting_reviews(&addresses[0]).await > 0 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        took += start.elapsed();
    }
    used.push(begun.used(servers));

    let query = |n: usize| json!({"task": format!("Refund order {n}"), "limit": 10}).to_string();
    // The first query of each server loads the index.
    step(
        &addresses,
        "/memory/query",
        query,
        addresses.len(),
        Duration::ZERO,
    )
    .await;
    let begun = Meter::start(servers);
    let many = step(&addresses, "/memory/query", query, CONNECTIONS, time).await;
    used.push(begun.used(servers));
    let begun = Meter::start(servers);
    let one = step(&addresses, "/memory/query", query, 1, time).await;
    used.push(begun.used(servers));
    Measured {
        ingest: rate(stored.count(), time),
        learned: rate(learned, took),
        queries: rate(many.count(), time),
        query: one.at(50),
        used: used.try_into().unwrap_or_default(),
    }
}

async fn step(
    servers: &[String],
    path: &'static str,
    body: impl Fn(usize) -> String + Send + Sync + 'static,
    connections: usize,
    time: Duration,
) -> Taken {
    let body = Box::new(body);
    let load = Load {
        path,
        body,
        connections,
    };
    requests::send(load, servers, time).await
}

/// The reviews that are not learned from yet.
async fn waiting_reviews(address: &str) -> u64 {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "GET /v1/projects/load/stats HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {KEY}\r\n\
         connection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).await.unwrap();
    let stats: Value = serde_json::from_str(reply.rsplit("\r\n\r\n").next().unwrap()).unwrap();
    stats["queued"].as_u64().unwrap()
}

/// Measures the processors that servers and the database use.
struct Meter {
    begun: Instant,
    servers: Duration,
    database: Duration,
}

impl Meter {
    fn start(servers: &[Server]) -> Self {
        Self {
            begun: Instant::now(),
            servers: servers.iter().map(Server::processor_time).sum(),
            database: server::database_processor_time(),
        }
    }

    fn used(&self, servers: &[Server]) -> (f64, f64) {
        let now = Self::start(servers);
        let wall = self.begun.elapsed().as_secs_f64();
        let used =
            |before: Duration, after: Duration| after.saturating_sub(before).as_secs_f64() / wall;
        (
            used(self.servers, now.servers),
            used(self.database, now.database),
        )
    }
}
