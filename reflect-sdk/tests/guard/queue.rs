//! The delivery of finished runs.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use reflect_sdk::{
    ClientBuilder, DeliveryStats, Error, Overflow, ReflectClient, RetryPolicy, TraceOutput,
};
use reflect_types::ErrorCode;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::LIMIT;
use crate::script::{Script, Step, builder, client, end_one};

fn build(builder: ClientBuilder, script: &Arc<Script>) -> ReflectClient {
    builder.transport(Arc::clone(script) as _).unwrap()
}

fn counts(report: &DeliveryStats) -> (u64, u64, u64) {
    (report.sent, report.failed, report.dropped)
}

#[test]
fn a_full_queue_drops_the_newest_counts_it_and_does_not_hold_up_a_flush() {
    let script = Arc::new(Script::shut());
    let client = build(builder().queue(10, Overflow::Drop), &script);
    // Those that are sent first leave room, of which there is for ten at most.
    let handles: Vec<_> = (0..100).map(|_| end_one(&client)).collect();
    let dropped = client.stats().dropped;
    assert!((80..=90).contains(&dropped), "{dropped}");
    let limit = Duration::from_millis(100);
    let report = client.blocking().flush(limit);
    assert_eq!(report.pending + report.dropped, 100, "{report:?}");
    script.open();
    let report = client.blocking().flush(LIMIT);
    assert_eq!(report.sent + report.dropped, 100, "{report:?}");
    assert_eq!(report.dropped, dropped);
    let refused = handles.iter().filter(|handle| {
        let outcome = handle.wait_blocking(LIMIT);
        matches!(outcome, Err(Error::NotRecorded(why)) if why.contains(".spool("))
    });
    assert_eq!(refused.count() as u64, dropped);
}

#[test]
fn a_full_queue_makes_the_caller_wait_for_room() {
    let script = Arc::new(Script::shut());
    let client = build(builder().queue(1, Overflow::Block(LIMIT)), &script);
    thread::scope(|scope| {
        // More than fit into the queue.
        let producers: Vec<_> = (0..20).map(|_| scope.spawn(|| end_one(&client))).collect();
        script.open();
        for producer in producers {
            producer.join().unwrap().wait_blocking(LIMIT).unwrap();
        }
    });
    assert_eq!(counts(&client.blocking().flush(LIMIT)), (20, 0, 0));
}

#[test]
fn threads_under_pressure_lose_nothing_while_room_keeps_appearing() {
    const THREADS: usize = 16;
    const RUNS: usize = 5_000 / THREADS;

    let script = Arc::new(Script::default());
    let client = build(builder().queue(4, Overflow::Block(LIMIT)), &script);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| (0..RUNS).for_each(|_| drop(end_one(&client))));
        }
    });
    let stats = client.blocking().flush(LIMIT);
    assert_eq!(counts(&stats), ((THREADS * RUNS) as u64, 0, 0));
}

#[test]
fn waiting_for_room_ends_at_its_limit() {
    let client = builder()
        .queue(1, Overflow::Block(Duration::from_millis(5)))
        .shutdown_timeout(Duration::ZERO)
        .transport(Arc::new(Script::shut()))
        .unwrap();
    while client.stats().dropped == 0 {
        end_one(&client);
    }
    // One is sent, one waits.
    assert!(client.stats().pending <= 2);
}

#[test]
fn a_flush_among_producers_misses_no_earlier_run() {
    let script = Arc::new(Script::default());
    let client = build(builder().queue(100_000, Overflow::Drop), &script);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..2_500 {
                    let mine = end_one(&client);
                    let report = client.blocking().flush(LIMIT);
                    assert_eq!(report.dropped + report.failed, 0);
                    let sent = mine.wait_blocking(Duration::ZERO);
                    assert!(sent.is_ok(), "{sent:?}");
                }
            });
        }
    });
    assert_eq!(client.stats().sent, 10_000);
}

#[tokio::test]
async fn an_awaited_flush_misses_no_earlier_run() {
    let client = client(&Arc::new(Script::default()));
    for _ in 0..1_000 {
        let mine = end_one(&client);
        client.flush(LIMIT).await;
        assert!(mine.wait_blocking(Duration::ZERO).is_ok());
    }
}

#[test]
fn lost_runs_are_in_every_later_report() {
    let faults = [Step::Refuse(ErrorCode::MalformedJson)];
    let client = client(&Arc::new(Script::steps(faults)));
    assert_eq!(counts(&client.blocking().flush(LIMIT)), (0, 0, 0));
    end_one(&client);
    // A flush elsewhere resets nothing.
    assert_eq!(counts(&client.clone().blocking().flush(LIMIT)), (0, 1, 0));
    end_one(&client);
    let report = client.blocking().flush(LIMIT);
    assert_eq!(counts(&report), (1, 1, 0));
    assert!(!report.all_sent());
}

#[test]
fn a_panic_in_the_transport_ends_one_run_alone() {
    let script = Arc::new(Script::steps([Step::Panic]));
    let client = client(&script);
    let unlucky = end_one(&client);
    assert!(matches!(
        unlucky.wait_blocking(LIMIT),
        Err(Error::Worker(_))
    ));
    for _ in 0..20 {
        end_one(&client);
    }
    assert_eq!(counts(&client.blocking().flush(LIMIT)), (20, 1, 0));
}

#[test]
fn a_passing_fault_is_tried_again_with_the_same_key() {
    let faults = [ErrorCode::Unavailable, ErrorCode::RateLimited].map(Step::Refuse);
    let script = Arc::new(Script::steps(faults));
    let client = client(&script);
    end_one(&client).wait_blocking(LIMIT).unwrap();
    assert_eq!(*script.attempts.lock().unwrap(), 3);
    assert_eq!(script.tried_keys.lock().unwrap().len(), 1);
}

#[test]
fn a_refusal_is_final() {
    let script = Arc::new(Script::steps([Step::Refuse(ErrorCode::MalformedJson)]));
    let client = client(&script);
    let error = end_one(&client).wait_blocking(LIMIT).unwrap_err();
    assert_eq!(error.status(), Some(400));
    assert_eq!(*script.attempts.lock().unwrap(), 1);
    assert_eq!(counts(&client.blocking().flush(LIMIT)), (0, 1, 0));
}

#[test]
fn sending_ends_at_its_deadline_when_reflect_hangs() {
    let script = Arc::new(Script::steps([Step::Hang]));
    let limit = Duration::from_millis(20);
    let client = build(
        builder().background_retry(RetryPolicy::default(), limit),
        &script,
    );
    let error = end_one(&client).wait_blocking(LIMIT).unwrap_err();
    assert!(matches!(error, Error::Timeout { .. }), "{error}");
    // The lane is free again.
    end_one(&client).wait_blocking(LIMIT).unwrap();
}

#[tokio::test]
async fn retry_after_is_honoured() {
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(ResponseTemplate::new(503).insert_header("retry-after", "3600"))
        .mount(&server)
        .await;
    let client = builder().shutdown_timeout(Duration::ZERO);
    let client = client.http(server.uri(), "key").unwrap();
    end_one(&client);
    while server.received_requests().await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    // A flush sends what waits for another attempt, but not this.
    let stats = client.flush(Duration::from_millis(20)).await;
    assert_eq!((stats.sent, stats.pending), (0, 1), "{stats:?}");
    assert_eq!(server.received_requests().await.unwrap().len(), 1);
}

#[test]
fn a_run_is_sent_again_if_the_connection_breaks_during_the_reply() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let server = thread::spawn(move || {
        let body = r#"{"trace_id": "t", "ingest_status": "completed"}"#;
        let head = format!(
            "HTTP/1.1 201 Created\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        for sent in [&body[..9], body] {
            let (mut stream, _) = listener.accept().unwrap();
            // A run without messages fits one read.
            assert!(stream.read(&mut [0; 8192]).unwrap() > 0);
            stream.write_all(head.as_bytes()).unwrap();
            stream.write_all(sent.as_bytes()).unwrap();
        }
    });
    let client = builder().http(address, "key").unwrap();
    let receipt = end_one(&client).wait_blocking(LIMIT).unwrap();
    assert_eq!(receipt.trace_id, "t");
    server.join().unwrap();
}

#[test]
fn a_run_is_sent_again_if_the_reply_is_late() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        // The first connection is held and never answered.
        let _hung = listener.accept();
        let body = r#"{"trace_id": "t", "ingest_status": "completed"}"#;
        let head = format!(
            "HTTP/1.1 201 Created\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            // It may be late on a busy machine; then there is another.
            let _ = stream.read(&mut [0; 8192]);
            let _ = stream.write_all(format!("{head}{body}").as_bytes());
        }
    });
    let limit = Duration::from_millis(50);
    let quick = RetryPolicy::default().backoff(Duration::ZERO, Duration::ZERO);
    let client = builder()
        .timeout(limit)
        .background_retry(quick.attempts(u32::MAX), LIMIT)
        .http(address, "key")
        .unwrap();
    end_one(&client).wait_blocking(LIMIT).unwrap();
}

#[test]
fn a_retrieval_does_not_queue_behind_submissions() {
    let script = Arc::new(Script::shut());
    let client = build(builder().shutdown_timeout(Duration::ZERO), &script);
    for _ in 0..100 {
        end_one(&client);
    }
    let run = client.trace("task").start_blocking();
    assert!(run.retrieval_error().is_none());
}

#[test]
fn the_last_handle_waits_for_pending_runs() {
    let script = Arc::new(Script::shut());
    let client = client(&script);
    for _ in 0..50 {
        end_one(&client);
    }
    let second = client.clone();
    let opener = Arc::clone(&script);
    drop(client);
    assert!(script.taken().is_empty(), "another handle is left");
    thread::spawn(move || opener.open());
    drop(second);
    assert_eq!(script.taken().len(), 50);
}

#[test]
fn the_last_handle_waits_no_longer_than_its_limit() {
    for timeout in [Duration::ZERO, Duration::from_millis(20)] {
        let script = Arc::new(Script::shut());
        let client = build(builder().shutdown_timeout(timeout), &script);
        let handle = end_one(&client);
        drop(client);
        // The run is sent in the background.
        script.open();
        handle.wait_blocking(LIMIT).unwrap();
    }
}

#[test]
fn a_guard_is_a_handle_of_its_client() {
    let script = Arc::new(Script::shut());
    let run = client(&script)
        .trace("task")
        .no_retrieval()
        .start_blocking();
    run.set_output(TraceOutput::new("done"));
    let opener = Arc::clone(&script);
    thread::spawn(move || opener.open());
    drop(run);
    assert_eq!(script.taken().len(), 1);
}
