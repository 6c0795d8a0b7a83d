//! Runs that arrive from a process, however it ends.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use wiremock::matchers::{method, path_regex};
use wiremock::{Mock, MockServer, MockServerBuilder, ResponseTemplate};

use crate::LIMIT;
use crate::children::SECRET;
use crate::disk::Folder;
use crate::receipts::{self, receipt};
use crate::script::builder;

/// A process that runs one test of `children`.
fn child(test: &str, url: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--ignored", "--exact", "--nocapture", "--test-threads=1"])
        .arg(format!("children::{test}"))
        .env("REFLECT_TEST_URL", url);
    command
}

fn run(test: &str, url: &str) {
    let output = child(test, url).output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stdout}{stderr}");
}

async fn server() -> MockServer {
    serve(MockServer::builder()).await
}

async fn serve(builder: MockServerBuilder) -> MockServer {
    let server = builder.start().await;
    Mock::given(method("POST"))
        .respond_with(receipt)
        .mount(&server)
        .await;
    Mock::given(path_regex("/health"))
        .respond_with(ResponseTemplate::new(200).set_body_json(json!({"status": "ok"})))
        .mount(&server)
        .await;
    server
}

/// The runs that arrived, by key. A run may arrive twice, because the server stores it once per key; so
/// a key must always name the same run.
async fn arrived(server: &MockServer) -> BTreeMap<String, Value> {
    let mut runs = BTreeMap::new();
    for (key, run) in receipts::arrived(server).await {
        let before = runs.insert(key, run.clone());
        assert!(before.is_none_or(|before| before == run));
    }
    runs
}

#[tokio::test]
async fn a_run_that_ends_right_before_main_arrives() {
    let server = server().await;
    run("ends_right_after_a_drop", &server.uri());
    assert_eq!(arrived(&server).await.len(), 1);
}

#[tokio::test]
async fn an_installed_client_is_flushed_by_its_guard() {
    let server = server().await;
    run("ends_with_an_installed_client", &server.uri());
    assert_eq!(arrived(&server).await.len(), 1);
}

#[cfg(feature = "flush-at-exit")]
#[tokio::test]
async fn a_run_pending_at_exit_arrives() {
    for test in ["exits_with_an_installed_client", "exits_inside_a_runtime"] {
        let server = server().await;
        run(test, &server.uri());
        assert_eq!(arrived(&server).await.len(), 1, "{test}");
    }
}

#[tokio::test]
async fn where_panics_abort_the_run_is_recorded_before_the_end() {
    let server = server().await;
    let output = child("aborts_on_a_panic_with_an_open_guard", &server.uri()).output();
    assert!(!output.unwrap().status.success());
    let runs = arrived(&server).await;
    assert_eq!(runs.len(), 2);
    let failed = runs.values().find(|run| run["task"] == "guard").unwrap();
    assert_eq!(failed["review"]["result"], "fail");
    assert_eq!(failed["review"]["feedback_text"], "the end");
    assert_eq!(failed["trajectory"], "did a lot");
}

#[tokio::test]
async fn no_secret_is_logged_whatever_the_server_replies() {
    let server = MockServer::start().await;
    let echo = format!("you sent Authorization: Bearer {SECRET}");
    for (code, path) in [(401, "/memories"), (503, "/traces"), (500, "/health")] {
        let body = json!({"detail": echo, "code": echo, "field": echo});
        let reply = ResponseTemplate::new(code).set_body_json(body);
        Mock::given(path_regex(path))
            .respond_with(reply.insert_header("x-request-id", &*echo))
            .mount(&server)
            .await;
    }
    run("logs_all_that_goes_wrong", &server.uri());
    assert!(server.received_requests().await.unwrap().len() >= 3);
}

#[tokio::test]
async fn where_panics_abort_a_guard_belongs_to_the_thread_that_used_it_last() {
    let server = server().await;
    let test = "aborts_on_a_panic_where_the_guard_was_used_last";
    assert!(!child(test, &server.uri()).status().unwrap().success());
    let runs = arrived(&server).await;
    assert_eq!(runs.len(), 1, "{runs:?}");
    let failed = runs.values().next().unwrap();
    assert_eq!(failed["task"], "moved");
    assert_eq!(failed["review"]["feedback_text"], "the end");
    assert_eq!(failed["trajectory"][0]["content"], "step 1");
}

#[tokio::test]
async fn where_panics_abort_only_the_runs_of_the_culprit_fail() {
    let server = server().await;
    let output = child("aborts_on_a_panic_in_a_future", &server.uri()).output();
    assert!(!output.unwrap().status.success());
    let runs = arrived(&server).await;
    assert_eq!(runs.len(), 1);
    let failed = runs.values().next().unwrap();
    assert_eq!(failed["task"], "future");
    assert_eq!(failed["trajectory"][0]["content"], "step 1");
}

#[tokio::test]
async fn a_forked_child_is_told_so_and_its_parent_goes_on() {
    let server = server().await;
    run("forks", &server.uri());
    // One before the fork, one that was open then, and one after it.
    assert_eq!(arrived(&server).await.len(), 3);
}

#[test]
fn the_threads_of_clients_that_are_gone_end() {
    run("makes_and_drops_clients", "http://127.0.0.1:1");
}

#[test]
fn no_thread_is_started_before_it_is_needed() {
    run("starts_no_thread", "http://127.0.0.1:1");
}

#[tokio::test]
async fn a_spooled_run_survives_an_abort() {
    let folder = Folder::new();
    // Connections are not accepted, so requests are not answered.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let output = child("aborts_with_a_spool", &url)
        .env("REFLECT_TEST_FOLDER", folder.path())
        .output()
        .unwrap();
    assert!(!output.status.success());
    assert_eq!(folder.runs("").len(), 1);
    let server = serve(MockServer::builder().listener(listener)).await;
    let client = builder()
        .spool(folder.path())
        .http(server.uri(), "key")
        .unwrap();
    assert!(client.flush(LIMIT).await.all_sent());
    assert_eq!(arrived(&server).await.len(), 1);
    assert!(folder.runs("").is_empty());
}

#[tokio::test]
async fn every_run_that_ended_before_a_kill_arrives_under_one_key() {
    const KILLS: usize = 100;

    let folder = Folder::new();
    let server = server().await;
    let mut ended = BTreeSet::new();
    for _ in 0..KILLS {
        let mut process = child("spools_until_it_is_killed", &server.uri())
            .env("REFLECT_TEST_FOLDER", folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        // The moment of the kill is random. One process in four is killed at its start, while it takes
        // over the runs of the others.
        let mut before_the_kill = fastrand::usize(1..15);
        if fastrand::u8(..4) == 0 {
            before_the_kill = 0;
        }
        for line in lines.map_while(Result::ok) {
            if let Some(key) = line.strip_prefix("ended ") {
                ended.insert(key.to_owned());
                before_the_kill = before_the_kill.saturating_sub(1);
            } else if !line.ends_with("begins") {
                continue;
            }
            if before_the_kill == 0 {
                // It may be dead already; the rest of its output is still read.
                let _ = process.kill();
            }
        }
        process.wait().unwrap();
    }
    let client = builder()
        .spool(folder.path())
        .http(server.uri(), "key")
        .unwrap();
    let stats = client.flush(LIMIT).await;
    assert!(stats.all_sent(), "{stats:?}");
    let arrived = arrived(&server).await;
    let lost: Vec<_> = ended
        .iter()
        .filter(|key| !arrived.contains_key(*key))
        .collect();
    assert!(
        ended.len() >= KILLS && lost.is_empty(),
        "{lost:?} of {}",
        ended.len()
    );
    // Files that a killed process did not write to their end are gone too.
    for left in ["", "unreadable"] {
        assert_eq!(folder.runs(left), [""; 0].map(std::path::PathBuf::from));
    }
}
