//! Runs that travel together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use reflect_sdk::{ErrorCode, Message, ReflectClient, TraceHandle, TraceOutput};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use crate::LIMIT;
use crate::receipts::{arrived, receipt};
use crate::script::{Script, Step, builder, client, end_one, end_task};

/// Ends runs while the first one is sent, so that the others wait together.
fn end_behind_one(client: &ReflectClient, script: &Script, count: usize) -> Vec<TraceHandle> {
    let mut handles = vec![end_one(client)];
    while *script.attempts.lock().unwrap() == 0 {
        std::thread::yield_now();
    }
    handles.extend((0..count).map(|n| end_task(client, &format!("task {n}"))));
    handles
}

#[test]
fn what_waits_travels_together_and_each_run_has_its_own_receipt() {
    let script = Arc::new(Script::shut().with_batches());
    let client = client(&script);
    let handles = end_behind_one(&client, &script, 100);
    script.open();
    for handle in &handles {
        let receipt = handle.wait_blocking(LIMIT).unwrap();
        assert_eq!(Some(receipt.trace_id), handle.trace_id());
    }
    assert_eq!(
        script.batches.lock().unwrap().as_deref(),
        Some(&[64, 36][..])
    );
    let mut ids: Vec<_> = handles.iter().filter_map(TraceHandle::trace_id).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 101);
}

#[test]
fn large_runs_travel_in_several_requests() {
    let script = Arc::new(Script::shut().with_batches());
    let client = client(&script);
    end_behind_one(&client, &script, 0);
    for _ in 0..10 {
        let run = client.trace("task").no_retrieval().start_blocking();
        run.set_output(TraceOutput::new(vec![Message::assistant(
            "x".repeat(300_000),
        )]));
    }
    script.open();
    assert!(client.blocking().flush(LIMIT).all_sent());
    let sizes = script.batches.lock().unwrap().clone();
    assert_eq!(sizes.as_deref(), Some(&[3, 3, 3][..]), "and one alone");
}

#[test]
fn a_run_that_is_refused_keeps_no_other_from_arriving() {
    let script = Arc::new(Script::shut().with_batches());
    script.steps.lock().unwrap().extend([
        Step::Refuse(ErrorCode::Unavailable),
        Step::Refuse(ErrorCode::InvalidField),
    ]);
    let client = client(&script);
    let handles = end_behind_one(&client, &script, 3);
    script.open();
    let outcomes = handles.iter().map(|handle| handle.wait_blocking(LIMIT));
    let outcomes: Vec<_> = outcomes
        .map(|outcome| outcome.map_err(|error| error.status()))
        .collect();
    // The first one is sent again, the second one is not.
    assert!(
        outcomes[0].is_ok() && outcomes[2].is_ok() && outcomes[3].is_ok(),
        "{outcomes:?}"
    );
    assert_eq!(outcomes[1], Err(Some(422)));
    let stats = client.stats();
    assert_eq!((stats.sent, stats.failed), (3, 1), "{stats:?}");
}

#[test]
fn a_request_that_fails_as_a_whole_is_repeated_run_by_run_and_stores_none_twice() {
    let script = Arc::new(Script::shut().with_batches());
    let client = client(&script);
    let handles = end_behind_one(&client, &script, 3);
    // The first one arrives; of the batch the second entry panics, when the first is stored already.
    script
        .steps
        .lock()
        .unwrap()
        .extend([Step::Take, Step::Take, Step::Panic]);
    script.open();
    for handle in handles {
        handle.wait_blocking(LIMIT).unwrap();
    }
    let mut keys = script.keys();
    keys.sort();
    keys.dedup();
    assert_eq!((keys.len(), script.taken().len()), (4, 4));
    assert_eq!(client.stats().sent, 4);
}

#[tokio::test]
async fn a_server_that_does_not_know_the_path_gets_runs_one_by_one_and_is_asked_once() {
    for unknown in [404, 405] {
        let server = MockServer::start().await;
        let (first, batches) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
        let asked = Arc::clone(&batches);
        let reply = move |request: &Request| {
            if request.url.path().ends_with("/batch") {
                asked.fetch_add(1, Ordering::Relaxed);
                return ResponseTemplate::new(unknown);
            }
            // While the first one is answered, others come to wait.
            let is_first = first.fetch_add(1, Ordering::Relaxed) == 0;
            let delay = if is_first { 50 } else { 0 };
            receipt(request).set_delay(Duration::from_millis(delay))
        };
        Mock::given(any()).respond_with(reply).mount(&server).await;
        let client = builder().http(server.uri(), "key").unwrap();
        for _ in 0..3 {
            for _ in 0..20 {
                end_one(&client);
            }
            assert!(client.flush(LIMIT).await.all_sent());
        }
        assert_eq!(
            (
                arrived(&server).await.len(),
                batches.load(Ordering::Relaxed)
            ),
            (60, 1)
        );
    }
}

#[tokio::test]
async fn a_proxy_that_takes_no_long_requests_gets_short_ones() {
    let server = MockServer::start().await;
    let reply = |request: &Request| match request.body.len() {
        0..2_000 => receipt(request),
        _ => ResponseTemplate::new(413),
    };
    Mock::given(any()).respond_with(reply).mount(&server).await;
    let client = builder().http(server.uri(), "key").unwrap();
    for _ in 0..50 {
        end_one(&client);
    }
    let stats = client.flush(LIMIT).await;
    assert!(stats.all_sent() && stats.sent == 50, "{stats:?}");
}
