//! A server that is down slows down no agent.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reflect_sdk::{
    Error, ErrorCode, Overflow, ReflectClient, RetryPolicy, TraceContext, TraceOutput,
    reflect_trace,
};
use tokio::runtime::Builder;
use tokio::time::timeout;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use crate::LIMIT;
use crate::disk::Folder;
use crate::receipts::{arrived, receipt};
use crate::script::{Script, Step, builder, client, end_one};

const HOURS: Duration = Duration::from_secs(1_000_000);

#[reflect_trace(client = client)]
async fn answer(ctx: &TraceContext, question: &str, client: &ReflectClient) -> String {
    ctx.augmented_task().to_uppercase()
}

/// What a client may be set to wait for, it does not wait for on a thread of a runtime.
#[test]
fn on_the_only_thread_of_a_runtime_other_tasks_go_on_while_runs_start_and_end() {
    // Connections are not accepted, so requests are not answered.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let folder = Folder::new();
    let client = ReflectClient::builder()
        .retrieval_timeout(Duration::from_millis(20))
        .queue(1, Overflow::Block(HOURS))
        .spool(folder.path())
        .shutdown_timeout(HOURS)
        .flush_at_exit(false)
        .http(url, "key")
        .unwrap();
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let agent = runtime.spawn(async move {
        for _ in 0..50 {
            assert_eq!(answer("why?", &client).await, "WHY?");
        }
        let stats = client.stats();
        assert_eq!(
            stats.spooled + stats.pending + stats.dropped,
            50,
            "{stats:?}"
        );
        assert_eq!(stats.retrievals_failed, 50);
        // The last handle.
        drop(client);
    });
    // It is at its next beat before long, whatever the agent does in between.
    let is_done = Arc::new(AtomicBool::new(false));
    let done = Arc::clone(&is_done);
    let heart = runtime.spawn(async move {
        let mut beats = 0_u64;
        while !done.load(Ordering::Relaxed) {
            tokio::task::yield_now().await;
            beats += 1;
        }
        beats
    });
    let ended = runtime.block_on(async { timeout(LIMIT, agent).await });
    ended.expect("the thread is held up").unwrap();
    is_done.store(true, Ordering::Relaxed);
    let beats = runtime.block_on(heart).unwrap();
    assert!(beats >= 50, "{beats}");
}

#[tokio::test]
async fn queries_are_spared_until_the_server_is_asked_again() {
    let script = Arc::new(Script::default());
    *script.memories.lock().unwrap() = Err(ErrorCode::Unavailable);
    let patient = RetryPolicy::default().backoff(HOURS, HOURS);
    let settings = builder().background_retry(patient, HOURS * 2);
    let client = settings.transport(Arc::clone(&script) as _).unwrap();
    for n in 0..6 {
        let run = client.trace("task").await;
        let why = run.retrieval_error().unwrap();
        assert_eq!(why.status(), Some(503));
        assert_eq!(matches!(why, Error::Skipped(_)), n > 0, "{why}");
        run.discard();
    }
    // Those of the first run.
    assert_eq!(script.queries.lock().unwrap().len(), 3);
    assert_eq!(client.stats().retrievals_failed, 6);
    let strict = client.trace("task").strict().await;
    assert!(matches!(strict, Err(Error::Skipped(_))));
    // A caller's own query is made.
    assert!(client.query_memories("task").await.is_err());
    assert_eq!(script.queries.lock().unwrap().len(), 6);
}

#[tokio::test]
async fn the_next_query_after_the_pause_finds_a_server_that_answers_again() {
    let script = Arc::new(Script::with_memory("m1"));
    let memories = script.memories.lock().unwrap().clone();
    *script.memories.lock().unwrap() = Err(ErrorCode::Unavailable);
    let client = client(&script);
    assert!(client.trace("task").await.memories().is_empty());
    *script.memories.lock().unwrap() = memories;
    while client.trace("task").await.memories().is_empty() {}
    assert!(client.trace("task").await.retrieval_error().is_none());
}

#[test]
fn a_server_that_takes_no_runs_is_still_asked_for_memories() {
    let script = Arc::new(Script::with_memory("m1"));
    *script.poison.lock().unwrap() = Some("task");
    let client = client(&script);
    for _ in 0..20 {
        let run = client.trace("task").start_blocking();
        assert_eq!(run.memories().len(), 1);
        run.set_output(TraceOutput::new("done"));
    }
}

#[test]
fn whatever_may_be_mended_is_tried_again() {
    for code in [
        ErrorCode::Unauthorized,
        ErrorCode::Forbidden,
        ErrorCode::NotFound,
        ErrorCode::Conflict,
        ErrorCode::ModelFailed,
        ErrorCode::Internal,
    ] {
        let script = Arc::new(Script::steps([Step::Refuse(code)]));
        let client = client(&script);
        end_one(&client).wait_blocking(LIMIT).unwrap();
        assert_eq!(*script.attempts.lock().unwrap(), 2);
    }
    for code in [
        ErrorCode::MalformedJson,
        ErrorCode::TooLarge,
        ErrorCode::InvalidField,
    ] {
        let script = Arc::new(Script::steps([Step::Refuse(code)]));
        let client = client(&script);
        end_one(&client).wait_blocking(LIMIT).unwrap_err();
        assert_eq!(*script.attempts.lock().unwrap(), 1);
    }
}

#[tokio::test]
async fn replies_that_are_none_of_reflects_lose_no_run() {
    let page = || ResponseTemplate::new(200).set_body_string("<h1>Sign in to the network</h1>");
    for broken in [
        page(),
        ResponseTemplate::new(302),
        ResponseTemplate::new(522),
    ] {
        let server = MockServer::start().await;
        Mock::given(any())
            .respond_with(broken)
            .up_to_n_times(2)
            .with_priority(1)
            .mount(&server)
            .await;
        Mock::given(any())
            .respond_with(|request: &Request| receipt(request))
            .mount(&server)
            .await;
        let client = builder().http(server.uri(), "key").unwrap();
        let handle = end_one(&client);
        handle.wait_blocking(LIMIT).unwrap();
        assert_eq!(
            arrived(&server).await.len(),
            3,
            "{broken:?}",
            broken = handle.trace_id()
        );
    }
}
