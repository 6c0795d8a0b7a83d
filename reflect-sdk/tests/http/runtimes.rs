//! Clients in any runtime, in several, and in none.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use reflect_sdk::ReflectClient;
use serde_json::json;
use tokio::runtime::{Builder, Runtime};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::client;

/// A server, and its runtime.
fn server() -> (Runtime, MockServer, ReflectClient) {
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let server = runtime.block_on(async {
        let server = MockServer::start().await;
        let healthy = ResponseTemplate::new(200).set_body_json(json!({"status": "ok"}));
        Mock::given(any())
            .respond_with(healthy)
            .mount(&server)
            .await;
        server
    });
    let client = client(&server.uri());
    (runtime, server, client)
}

async fn is_healthy(client: &ReflectClient) -> bool {
    client.health().await.unwrap().status() == "ok"
}

#[test]
fn a_call_needs_no_runtime() {
    let (_runtime, _server, client) = server();
    assert_eq!(client.blocking().health().call().unwrap().status(), "ok");
    assert!(pollster::block_on(is_healthy(&client)));
}

#[test]
fn one_client_serves_runtimes_that_come_and_go() {
    let (_runtime, _server, client) = server();
    let idle = Builder::new_current_thread().enable_all().build().unwrap();
    // The first runtime still exists, but nothing drives it while the second is used.
    assert!(idle.block_on(is_healthy(&client)));
    let second = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    assert!(second.block_on(is_healthy(&client)));
    drop(second);
    assert!(idle.block_on(is_healthy(&client)));
}

#[test]
fn a_blocking_call_inside_a_runtime_neither_panics_nor_hangs() {
    let (_runtime, _server, client) = server();
    for runtime in [
        Builder::new_current_thread().enable_all().build().unwrap(),
        Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap(),
    ] {
        let health = runtime.block_on(async { client.blocking().health().call() });
        assert_eq!(health.unwrap().status(), "ok");
    }
}

#[test]
fn calls_from_different_runtimes_share_one_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let connections = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&connections);
    thread::spawn(move || {
        for stream in listener.incoming() {
            counter.fetch_add(1, Ordering::SeqCst);
            let mut stream = stream.unwrap();
            let reply = b"HTTP/1.1 200 OK\r\ncontent-length: 15\r\n\r\n{\"status\":\"ok\"}";
            // A health check fits one read; the client sends the next only after the reply.
            while stream.read(&mut [0; 4096]).is_ok_and(|read| read > 0) {
                stream.write_all(reply).unwrap();
            }
        }
    });
    let client = client(&format!("http://{address}"));
    for _ in 0..5 {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        assert!(runtime.block_on(is_healthy(&client)));
        assert_eq!(client.blocking().health().call().unwrap().status(), "ok");
    }
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}

#[test]
fn concurrent_calls_are_all_answered() {
    let (runtime, server, client) = server();
    runtime.block_on(async {
        let calls = (0..100).map(|_| {
            let client = client.clone();
            tokio::spawn(async move { is_healthy(&client).await })
        });
        for call in calls.collect::<Vec<_>>() {
            assert!(call.await.unwrap());
        }
        assert_eq!(server.received_requests().await.unwrap().len(), 100);
    });
}

#[test]
fn a_dropped_call_is_cancelled() {
    let (runtime, _server, _client) = server();
    runtime.block_on(async {
        let slow = MockServer::start().await;
        let reply = ResponseTemplate::new(200).set_delay(Duration::from_secs(3_600));
        Mock::given(any()).respond_with(reply).mount(&slow).await;
        let client = client(&slow.uri());
        let gone = tokio::time::timeout(Duration::from_millis(20), client.health().into_future());
        assert!(gone.await.is_err());
    });
}

#[test]
fn calls_and_clients_can_be_sent_and_shared() {
    fn sendable<T: Send + 'static>(_: T) {}
    fn shareable<T: Send + Sync + Clone + 'static>(_: &T) {}
    let client = client("http://localhost:1");
    shareable(&client);
    shareable(&client.blocking());
    sendable(client.get_trace("x").into_future());
}
