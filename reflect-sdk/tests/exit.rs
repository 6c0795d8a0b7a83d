//! The end of a process waits for pending runs, wherever its client is kept.
//!
//! Each test runs one of the ignored ones in a process of its own.

#![cfg(feature = "flush-at-exit")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod receipts;

use std::net::TcpListener;
use std::process::{self, Command};
use std::sync::{LazyLock, mpsc};
use std::thread;
use std::time::Duration;

use reflect_sdk::{ReflectClient, TraceOutput};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request};

use receipts::{arrived as arrived_at, receipt};

const RUNS: usize = 5;
/// Longer than a process takes that does not wait.
const PATIENCE: Duration = Duration::from_secs(3_600);

/// The number of runs that arrive from a process which runs this test.
async fn arrived(child: &str) -> usize {
    let server = MockServer::start().await;
    // Slower than the end of a process.
    let reply = |request: &Request| receipt(request).set_delay(Duration::from_millis(200));
    Mock::given(any()).respond_with(reply).mount(&server).await;
    run(child, &server.uri());
    arrived_at(&server).await.len()
}

/// Runs one test in a process of its own.
fn run(child: &str, url: &str) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", child])
        .env("REFLECT_TEST_URL", url)
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
}

fn url() -> String {
    std::env::var("REFLECT_TEST_URL").unwrap()
}

fn client() -> ReflectClient {
    ReflectClient::builder().http(url(), "key").unwrap()
}

fn end_runs(client: &ReflectClient) {
    for _ in 0..RUNS {
        let run = client.trace("task").no_retrieval().start_blocking();
        run.set_output(TraceOutput::new("done").pass());
    }
}

static STATIC: LazyLock<ReflectClient> = LazyLock::new(client);

#[tokio::test]
async fn runs_of_a_client_in_a_static_arrive() {
    assert_eq!(arrived("child_static").await, RUNS);
}

#[test]
#[ignore = "a part of another test"]
fn child_static() {
    end_runs(&STATIC);
}

#[tokio::test]
async fn runs_of_a_leaked_client_arrive() {
    assert_eq!(arrived("child_leaked").await, RUNS);
}

#[test]
#[ignore = "a part of another test"]
fn child_leaked() {
    end_runs(Box::leak(Box::new(client())));
}

#[tokio::test]
async fn runs_of_a_client_on_a_detached_thread_arrive() {
    assert_eq!(arrived("child_detached").await, RUNS);
}

#[test]
#[ignore = "a part of another test"]
fn child_detached() {
    let (done, ended) = mpsc::channel();
    thread::spawn(move || {
        let client = client();
        end_runs(&client);
        done.send(()).unwrap();
        loop {
            thread::park();
        }
    });
    ended.recv().unwrap();
}

#[tokio::test]
async fn runs_before_a_process_exit_arrive() {
    assert_eq!(arrived("child_exit").await, RUNS);
}

#[test]
#[ignore = "a part of another test"]
fn child_exit() {
    let client = client();
    end_runs(&client);
    process::exit(0);
}

/// Waits for the end of a process whose server never answers.
fn ends(child: &str) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    run(child, &format!("http://{}", listener.local_addr().unwrap()));
}

#[test]
fn the_wait_is_bounded_by_the_shutdown_timeout() {
    ends("child_with_little_time");
}

#[test]
#[ignore = "a part of another test"]
fn child_with_little_time() {
    let builder = ReflectClient::builder().shutdown_timeout(Duration::from_millis(10));
    end_runs(Box::leak(Box::new(builder.http(url(), "key").unwrap())));
}

#[test]
fn the_wait_can_be_switched_off() {
    ends("child_switched_off");
}

#[test]
#[ignore = "a part of another test"]
fn child_switched_off() {
    let builder = ReflectClient::builder().shutdown_timeout(PATIENCE);
    let builder = builder.flush_at_exit(false);
    end_runs(Box::leak(Box::new(builder.http(url(), "key").unwrap())));
}
