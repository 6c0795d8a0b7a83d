use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use reflect_sdk::types::Scope;
use reflect_sdk::{IngestStatus, Review, TraceId};

use super::support::{KEY, Server, on_file, reflect};

#[tokio::test(flavor = "multi_thread")]
async fn first_start_shows_a_master_key_once_and_stores_its_hash() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("reflect.db");
    let first = Server::start(&data, &[]);
    let key = first
        .said
        .split_whitespace()
        .find(|word| word.starts_with("rf_live_"));
    let key = key.unwrap().to_owned();
    first.client(&key).create_trace("t", "done").await.unwrap();
    first.terminate();
    assert!(first.ended().success());

    let second = Server::start(&data, &[]);
    assert_eq!(second.said, "");
    assert_eq!(second.client(&key).list_traces().await.unwrap().len(), 1);
    let secret = key.rsplit('_').next().unwrap().as_bytes().to_vec();
    for file in std::fs::read_dir(folder.path()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(secret.len()).any(|window| window == secret));
    }
}

#[test]
fn a_refused_setting_leaves_the_master_key_to_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("reflect.db");
    let serve = ["serve", "--listen", "127.0.0.1:0", "--alpha", "7"];
    let refused = on_file(&data, &serve, "");
    assert!(!refused.status.success());
    assert!(refused.stdout.is_empty(), "{refused:?}");

    let next = Server::start(&data, &[]);
    assert!(next.said.contains("rf_live_"), "no key: {}", next.said);
}

#[test]
fn a_master_key_that_cannot_be_shown_is_revoked() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("reflect.db");
    let (reader, closed) = std::io::pipe().unwrap();
    drop(reader);
    let ended = reflect()
        .args(["serve", "--listen", "127.0.0.1:0", "--data"])
        .arg(&data)
        .stdout(closed)
        .output()
        .unwrap();
    let log = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(1), "{log}");
    assert!(log.contains("cannot show the master key"), "{log}");

    let next = Server::start(&data, &[]);
    assert!(next.said.contains("rf_live_"), "no new key: {}", next.said);
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_server_loses_nothing_it_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("reflect.db");
    let acknowledged: Arc<Mutex<Vec<TraceId>>> = Arc::default();
    for _ in 0..3 {
        let mut server = Server::start(&data, &["--master-key", KEY, "--lease", "1"]);
        let before = acknowledged.lock().unwrap().len();
        let clients: Vec<_> = (0..8)
            .map(|n| {
                let (client, acknowledged) = (server.client(KEY), Arc::clone(&acknowledged));
                tokio::spawn(async move {
                    // Until the server is gone.
                    while let Ok(receipt) = client
                        .create_trace(format!("Water plant {n}"), "done")
                        .review(Review::pass())
                        .await
                    {
                        acknowledged.lock().unwrap().push(receipt.trace_id);
                    }
                })
            })
            .collect();
        while acknowledged.lock().unwrap().len() < before + 50 {
            tokio::task::yield_now().await;
        }
        server.kill();
        for client in clients {
            client.await.unwrap();
        }
    }
    let server = Server::start(&data, &["--master-key", KEY, "--lease", "1"]);
    let client = server.client(KEY);
    let acknowledged = acknowledged.lock().unwrap().clone();
    assert!(acknowledged.len() >= 150);
    let mut memories = std::collections::HashSet::new();
    for id in acknowledged {
        let trace = client.wait_for_trace(&id).require_reviewed().await.unwrap();
        assert_eq!(trace.ingest_status, IngestStatus::Completed);
        assert!(memories.insert(trace.created_memory_id.unwrap()));
    }
}

#[test]
fn open_request_is_finished_at_shutdown() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("reflect.db"), &["--master-key", KEY]);
    let body = r#"{"task": "Water the plants", "trajectory": "done"}"#;
    let address = server.url.strip_prefix("http://").unwrap().to_owned();
    let mut slow = TcpStream::connect(&address).unwrap();
    let head = format!(
        "POST /v1/projects/support/traces HTTP/1.1\r\nhost: {address}\r\n\
         authorization: Bearer {KEY}\r\ncontent-length: {}\r\nexpect: 100-continue\r\n\r\n",
        body.len()
    );
    slow.write_all(head.as_bytes()).unwrap();
    // The server sends `100 Continue` when the handler reads the body.
    let mut go_on = [0; 25];
    slow.read_exact(&mut go_on).unwrap();
    assert!(go_on.starts_with(b"HTTP/1.1 100"));
    server.terminate();
    // The server accepts no connection, so it is shutting down.
    while TcpStream::connect(&address).is_ok() {
        std::thread::yield_now();
    }
    slow.write_all(body.as_bytes()).unwrap();
    let mut answer = String::new();
    slow.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    assert!(server.ended().success());
}

#[test]
fn second_signal_ends_the_server_immediately() {
    let folder = tempfile::tempdir().unwrap();
    let grace = ["--master-key", KEY, "--shutdown-grace", "600"];
    let server = Server::start(&folder.path().join("reflect.db"), &grace);
    let address = server.url.strip_prefix("http://").unwrap().to_owned();
    let mut slow = TcpStream::connect(&address).unwrap();
    let head = format!(
        "POST /v1/projects/support/traces HTTP/1.1\r\nhost: {address}\r\n\
         authorization: Bearer {KEY}\r\ncontent-length: 10\r\nexpect: 100-continue\r\n\r\n",
    );
    slow.write_all(head.as_bytes()).unwrap();
    let mut go_on = [0; 25];
    slow.read_exact(&mut go_on).unwrap();
    server.terminate();
    while TcpStream::connect(&address).is_ok() {
        std::thread::yield_now();
    }
    // The body never comes: without the second signal this waits for ten minutes.
    server.terminate();
    assert!(server.ended().success());
}

#[test]
fn port_in_use_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("a.db"), &["--master-key", KEY]);
    let address = server.url.strip_prefix("http://").unwrap();
    let second = reflect()
        .args(["serve", "--listen", address, "--data"])
        .arg(folder.path().join("b.db"))
        .output()
        .unwrap();
    assert_eq!(second.status.code(), Some(1));
    let said = String::from_utf8(second.stderr).unwrap();
    assert!(said.contains("--listen"), "{said}");
    assert!(!folder.path().join("b.db").exists());
}

/// Queries memories over MCP.
async fn mcp_query(url: &str, task: &str) {
    let call = serde_json::json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "retrieve_memories", "arguments": {"query": task}},
    });
    let answer = reqwest::Client::new()
        .post(format!("{url}/mcp"))
        .bearer_auth(KEY)
        .header("x-project-id", "support")
        .header("accept", "application/json, text/event-stream")
        .json(&call)
        .send()
        .await
        .unwrap();
    let answer = answer.text().await.unwrap();
    assert!(answer.contains(task), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn log_contains_no_keys_and_no_trajectories() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let data = folder.path().join("reflect.db");
    let more = [
        "--master-key",
        KEY,
        "--log",
        "debug,reflect=trace",
        "--log-format",
        "json",
    ];
    let server = Server::start_logging(&data, &more, std::fs::File::create(&log).unwrap().into());
    let client = server.client(KEY);
    let sent = client
        .create_trace("a secret task", "a secret answer")
        .await
        .unwrap();
    client
        .review_trace(&sent.trace_id, Review::fail("a secret reason"))
        .await
        .unwrap();
    client.query_memories("a secret task").await.unwrap();
    mcp_query(&server.url, "a secret task").await;
    let made = client.admin().create_api_key("label");
    let made = made.scopes([Scope::MemoryRead]).await.unwrap();
    server
        .client(&made.api_key)
        .list_traces()
        .await
        .unwrap_err();
    server.terminate();
    assert!(server.ended().success());
    let text = std::fs::read_to_string(log).unwrap();
    let lines: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let answered = lines.iter().filter(|line| line["message"] == "answered");
    assert_eq!(answered.count(), 6, "{text}");
    let secret = made.api_key.rsplit('_').next().unwrap();
    for hidden in ["secret", KEY, secret] {
        assert!(!text.contains(hidden), "{hidden} in {text}");
    }
}
