//! Requests on many connections.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::server::KEY;

/// One kind of request.
pub(crate) struct Load {
    /// The path in the project.
    pub(crate) path: &'static str,
    /// The body of the request of this number.
    pub(crate) body: Box<dyn Fn(usize) -> String + Send + Sync>,
    pub(crate) connections: usize,
    /// The numbers of the requests.
    pub(crate) numbers: Range<usize>,
}

impl Load {
    /// Requests without an end.
    pub(crate) fn new(
        path: &'static str,
        body: impl Fn(usize) -> Value + Send + Sync + 'static,
        connections: usize,
    ) -> Self {
        Self {
            path,
            body: Box::new(move |n| body(n).to_string()),
            connections,
            numbers: 0..usize::MAX,
        }
    }
}

/// How long each request took, in order.
pub(crate) struct Taken(Vec<Duration>);

impl Taken {
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// The time of the request at this share of all, in milliseconds.
    pub(crate) fn at(&self, percent: usize) -> f64 {
        self.0[(self.0.len() - 1) * percent / 100].as_secs_f64() * 1e3
    }
}

/// Sends requests to the servers in turn until the end of their numbers or of the time, at least one on each connection;
/// any error status fails the bench.
pub(crate) async fn send(load: Load, servers: &[String], time: Duration) -> Taken {
    let until = Instant::now().checked_add(time);
    let next = Arc::new(AtomicUsize::new(load.numbers.start));
    let load = Arc::new(load);
    let clients = (0..load.connections).map(|client| {
        let (load, next) = (Arc::clone(&load), Arc::clone(&next));
        let address = servers[client % servers.len()].clone();
        tokio::spawn(async move { client_of(&address, &load, &next, until).await })
    });
    let mut taken = Vec::new();
    for client in clients.collect::<Vec<_>>() {
        taken.extend(client.await.unwrap());
    }
    taken.sort_unstable();
    Taken(taken)
}

async fn client_of(
    address: &str,
    load: &Load,
    next: &AtomicUsize,
    until: Option<Instant>,
) -> Vec<Duration> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let mut taken = Vec::new();
    let mut buffer = Vec::new();
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= load.numbers.end {
            return taken;
        }
        let body = (load.body)(number);
        let request = format!(
            "POST /v1/projects/load{} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {KEY}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            load.path,
            body.len()
        );
        let begun = Instant::now();
        stream.write_all(request.as_bytes()).await.unwrap();
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
        if until.is_some_and(|until| Instant::now() >= until) {
            return taken;
        }
    }
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
