//! Load test: a server process with 64 busy connections.
//!
//! `cargo bench -p reflect-cli --bench load -- 60` runs each kind of request for 60 seconds
//! (3 by default) and fails if any request fails.

#![expect(clippy::unwrap_used, reason = "a bench may")]

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const CONNECTIONS: usize = 64;
const KEY: &str = "rf_live_test_0123456789abcdef0123456789abcdef";

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let seconds = std::env::args().find_map(|argument| argument.parse().ok());
    let time = Duration::from_secs(seconds.unwrap_or(3));
    let folder = tempfile::tempdir().unwrap();
    let begun = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_reflect"))
        .args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--log",
            "error",
            "--master-key",
            KEY,
            "--data",
        ])
        .arg(folder.path().join("reflect.db"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let out = child.stdout.take().unwrap();
    let server = Server(child);
    let mut line = String::new();
    BufReader::new(out).read_line(&mut line).unwrap();
    let ready = begun.elapsed();
    println!("ready after {} ms   (goal: 200)", ready.as_millis());
    // Ten times as long without optimisation.
    let most = if cfg!(debug_assertions) { 2_000 } else { 200 };
    assert!(
        ready < Duration::from_millis(most),
        "the start took too long"
    );
    let address = line.trim().rsplit('/').next().unwrap().to_owned();
    let idle = resident(&server.0);
    println!("idle, {} MB resident   (goal: 60)", told(idle));
    assert!(idle.is_none_or(|megabytes| megabytes <= 60));

    let words = "The customer asked for a refund of an order that came late. ".repeat(60);
    let trace = json!({
        "task": "Refund an order that came late", "metadata": {"team": "eu"},
        "trajectory": [{"role": "user", "content": words}, {"role": "assistant", "content": "Done."}],
    });
    let mut reviewed = trace.clone();
    reviewed["review"] = json!({"result": "fail", "feedback_text": "It was too late"});
    let query = json!({"task": "Refund order 8", "limit": 10});
    for (what, path, body, connections) in [
        ("store a trace of 4 kB", "/traces", &trace, CONNECTIONS),
        ("store a reviewed trace", "/traces", &reviewed, CONNECTIONS),
        ("query memories", "/memory/query", &query, CONNECTIONS),
        ("query memories, one by one", "/memory/query", &query, 1),
    ] {
        load(&address, what, path, &body.to_string(), time, connections).await;
    }
    println!("afterwards, {} MB resident", told(resident(&server.0)));
}

async fn load(address: &str, what: &str, path: &str, body: &str, time: Duration, clients: usize) {
    let request = format!(
        "POST /v1/projects/load{path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {KEY}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let until = Instant::now() + time;
    let clients = (0..clients).map(|_| {
        let (address, request) = (address.to_owned(), request.clone());
        tokio::spawn(async move { client(&address, request.as_bytes(), until).await })
    });
    let mut taken = Vec::new();
    for client in clients.collect::<Vec<_>>() {
        taken.extend(client.await.unwrap());
    }
    taken.sort_unstable();
    #[expect(clippy::cast_precision_loss, reason = "a rate")]
    let rate = taken.len() as f64 / time.as_secs_f64();
    let at = |share: usize| taken[(taken.len() - 1) * share / 100].as_secs_f64() * 1e3;
    println!(
        "{what}: {rate:.0}/s, median {:.2} ms, p99 {:.2} ms, {} requests, no errors",
        at(50),
        at(99),
        taken.len()
    );
}

/// Sends requests on one connection until the end; any error status fails the bench.
async fn client(address: &str, request: &[u8], until: Instant) -> Vec<Duration> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let mut taken = Vec::new();
    let mut buffer = Vec::new();
    while Instant::now() < until {
        let begun = Instant::now();
        stream.write_all(request).await.unwrap();
        buffer.clear();
        let end = loop {
            assert_ne!(
                stream.read_buf(&mut buffer).await.unwrap(),
                0,
                "the server hung up"
            );
            if let Some(end) = length(&buffer)
                && buffer.len() >= end
            {
                break end;
            }
        };
        assert_eq!(buffer.len(), end);
        let status = &buffer[9..12];
        assert!(
            status.starts_with(b"2"),
            "{}",
            String::from_utf8_lossy(&buffer)
        );
        taken.push(begun.elapsed());
    }
    taken
}

/// The length of the whole reply, once its head is complete.
fn length(buffer: &[u8]) -> Option<usize> {
    let head = buffer.windows(4).position(|window| window == b"\r\n\r\n")?;
    let text = std::str::from_utf8(&buffer[..head]).unwrap();
    let body = text
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    Some(head + 4 + body.unwrap().parse::<usize>().unwrap())
}

/// The resident memory of the process in megabytes, if known.
fn resident(child: &Child) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes / 1024)
}

fn told(megabytes: Option<u64>) -> String {
    megabytes.map_or_else(|| "?".to_owned(), |megabytes| megabytes.to_string())
}
