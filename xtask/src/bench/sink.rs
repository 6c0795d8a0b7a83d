//! A server that accepts whatever it is sent, for the SDKs that are measured, and says how much that was.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The bytes of all bodies so far. `GET` answers with it.
static RECEIVED: AtomicUsize = AtomicUsize::new(0);

/// Its address. It ends with this process.
pub(super) fn start() -> io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = format!("http://{}", listener.local_addr()?);
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            thread::spawn(move || answer(connection));
        }
    });
    Ok(address)
}

/// Answers requests until the other side hangs up.
fn answer(mut connection: TcpStream) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let mut reader = BufReader::new(connection.try_clone()?);
    loop {
        let (mut length, mut is_otlp, mut is_batch, mut asks) = (0, false, false, false);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            let line = line.trim().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(said) = line.strip_prefix("content-length:") {
                length = said.trim().parse().unwrap_or(0);
            }
            is_otlp |= line.contains("x-protobuf");
            asks |= line.starts_with("get ");
            is_batch |= line.starts_with("post ") && line.contains("/traces/batch ");
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let received = RECEIVED.fetch_add(length, Ordering::Relaxed);
        let json = "application/json";
        let (kind, body) = if asks {
            (json, received.to_string())
        } else if is_otlp {
            ("application/x-protobuf", String::new())
        } else {
            let stored = r#"{"trace_id": "t", "ingest_status": "completed"}"#;
            let reply = if is_batch {
                let entry = format!(r#"{{"receipt": {stored}}}"#);
                format!("[{}]", vec![entry; runs_in(&body)].join(","))
            } else {
                stored.to_owned()
            };
            (json, reply)
        };
        let reply = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        connection.write_all(reply.as_bytes())?;
    }
}

/// The number of runs that travel together in a body.
fn runs_in(body: &[u8]) -> usize {
    let body = String::from_utf8_lossy(body);
    body.matches("\"idempotency_key\":").count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_on_one_connection_are_answered() {
        let address = start().unwrap();
        let mut connection = TcpStream::connect(address.trim_start_matches("http://")).unwrap();
        let request = "POST /v1/traces HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}";
        for _ in 0..2 {
            connection.write_all(request.as_bytes()).unwrap();
            let mut reply = [0; 128];
            let length = connection.read(&mut reply).unwrap();
            let reply = String::from_utf8_lossy(&reply[..length]);
            assert!(reply.starts_with("HTTP/1.1 200 OK"), "{reply}");
        }
        connection.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        let mut reply = [0; 128];
        let length = connection.read(&mut reply).unwrap();
        let reply = String::from_utf8_lossy(&reply[..length]);
        assert!(reply.ends_with("\r\n\r\n4"), "{reply}");
    }
}
