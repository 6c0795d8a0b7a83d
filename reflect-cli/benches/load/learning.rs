//! Reviewed traces, from the first that is sent until the last has its memory.

use std::ops::Range;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::CONNECTIONS;
use crate::requests::{self, Load};
use crate::server::KEY;
use crate::tasks::reviewed;

/// Sends reviewed traces of these numbers, at most for that long, waits until all are learned from, and counts them.
pub(crate) async fn learn(servers: &[String], numbers: Range<usize>, time: Duration) -> usize {
    let load = Load {
        numbers,
        ..Load::new("/traces", reviewed, CONNECTIONS)
    };
    let sent = requests::send(load, servers, time).await;
    learned_from_all(&servers[0]).await;
    sent.count()
}

/// Waits until all reviews are learned from.
pub(crate) async fn learned_from_all(address: &str) {
    while waiting_reviews(address).await > 0 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
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
