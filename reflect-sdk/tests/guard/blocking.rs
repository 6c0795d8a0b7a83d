//! Runs whose end waits until their memory exists.

use std::future::IntoFuture;
use std::panic::{catch_unwind, resume_unwind};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use reflect_sdk::{
    Error, ErrorCode, IngestStatus, ReflectClient, TraceContext, TraceHandle, TraceOutput,
    TraceResult, reflect_trace,
};
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::task::LocalSet;

use crate::LIMIT;
use crate::script::{Script, Unlearnable, builder, client};

/// A client whose memories exist only at the fourth look.
fn slow() -> ReflectClient {
    let script = Arc::new(Script::default());
    *script.looks.lock().unwrap() = Some(3);
    client(&script)
}

/// Ends a blocking run by dropping it.
fn end_one(client: &ReflectClient) -> TraceHandle {
    let run = client.trace("task").until_learned(true).start_blocking();
    run.set_output(TraceOutput::new("done").pass());
    run.handle()
}

/// What the handle says at once, without waiting any more.
fn is_learned(handle: &TraceHandle) -> bool {
    let receipt = handle.wait_blocking(Duration::ZERO).unwrap();
    receipt.ingest_status == IngestStatus::Completed
}

#[test]
fn without_a_runtime_the_memory_exists_when_the_drop_returns() {
    assert!(is_learned(&end_one(&slow())));
}

#[test]
fn in_a_current_thread_runtime_the_memory_exists_when_the_drop_returns() {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    assert!(is_learned(&runtime.block_on(async { end_one(&slow()) })));
}

#[test]
fn in_a_multi_thread_runtime_the_memory_exists_when_the_drop_returns() {
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .build()
        .unwrap();
    let task = runtime.spawn(async { end_one(&slow()) });
    assert!(is_learned(&runtime.block_on(task).unwrap()));
}

#[test]
fn in_spawn_blocking_the_memory_exists_when_the_drop_returns() {
    let runtime = Builder::new_current_thread().build().unwrap();
    let task = runtime.spawn_blocking(|| end_one(&slow()));
    assert!(is_learned(&runtime.block_on(task).unwrap()));
}

#[test]
fn in_a_local_set_the_memory_exists_when_the_drop_returns() {
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .build()
        .unwrap();
    let set = LocalSet::new();
    let task = set.spawn_local(async { end_one(&slow()) });
    assert!(is_learned(&set.block_on(&runtime, task).unwrap()));
}

#[test]
fn under_another_executor_the_memory_exists_when_the_drop_returns() {
    assert!(is_learned(&pollster::block_on(async { end_one(&slow()) })));
}

#[test]
fn a_closure_returns_when_the_memory_exists() {
    let client = slow();
    let mut handle = None;
    client.trace("task").until_learned(true).run(|ctx| {
        handle = Some(ctx.handle());
        TraceResult::new("done", "done").pass()
    });
    assert!(is_learned(&handle.unwrap()));
}

#[test]
fn a_future_waits_for_the_memory_without_holding_up_its_thread() {
    let client = slow();
    let mut handle = None;
    let run = client
        .trace("task")
        .until_learned(true)
        .run_async(async |ctx| {
            handle = Some(ctx.handle());
            TraceResult::new("done", "done").pass()
        });
    let (progress, seen) = mpsc::channel();
    let runtime = Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        // With one thread this only gets its turn while the run waits.
        let sibling = tokio::spawn(async move { progress.send(()).unwrap() });
        run.await;
        sibling.await.unwrap();
    });
    seen.recv().unwrap();
    assert!(is_learned(&handle.unwrap()));
}

#[tokio::test]
async fn finishing_waits_for_the_memory() {
    let run = slow().trace("task").until_learned(true).await;
    run.set_output(TraceOutput::new("done").pass());
    let receipt = run.finish().await.unwrap();
    assert_eq!(receipt.ingest_status, IngestStatus::Completed);
}

#[test]
fn the_wait_ends_at_its_limit_and_the_run_arrives_all_the_same() {
    let script = Arc::new(Script::shut());
    let client = client(&script);
    let limit = Duration::from_millis(20);
    let run = client.trace("task").until_learned(limit).start_blocking();
    run.set_output(TraceOutput::new("done").pass());
    let handle = run.handle();
    drop(run);
    assert!(matches!(
        handle.wait_blocking(Duration::ZERO),
        Err(Error::Timeout { .. })
    ));
    script.open();
    handle.wait_blocking(LIMIT).unwrap();
}

/// All ways to end a blocking run.
const ENDINGS: [fn(&ReflectClient, Duration); 4] = [
    |client, limit| {
        let run = client.trace("task").until_learned(limit).start_blocking();
        run.set_output(TraceOutput::new("done").pass());
    },
    |client, limit| {
        let trace = client.trace("task").until_learned(limit);
        trace.run(|_| TraceResult::new("done", "done").pass());
    },
    |client, limit| {
        let trace = client.trace("task").until_learned(limit);
        let run = trace.run_async(async |_| TraceResult::new("done", "done").pass());
        pollster::block_on(run);
    },
    |client, limit| assert_eq!(pollster::block_on(traced(client, limit)), "done"),
];

#[reflect_trace(client = client, task = "task", until_learned = limit)]
async fn traced(
    _: &TraceContext,
    client: &ReflectClient,
    limit: Duration,
) -> TraceResult<&'static str> {
    TraceResult::new("done", "done").pass()
}

#[test]
fn a_missing_memory_is_counted_and_reported() {
    for why in [
        Unlearnable::Ingestion("the model is down"),
        Unlearnable::Refused(ErrorCode::Unauthorized),
    ] {
        for end in ENDINGS {
            let script = Arc::new(Script::default());
            *script.looks.lock().unwrap() = Some(3);
            *script.unlearnable.lock().unwrap() = Some(why.clone());
            let client = client(&script);
            end(&client, LIMIT);
            let stats = client.stats();
            assert_eq!((stats.sent, stats.without_memory), (1, 1), "{why:?}");
            let told = stats.last_problem.unwrap();
            assert!(told.contains("its memory is not available"), "{told}");
            let because = match &why {
                Unlearnable::Ingestion(why) => why,
                Unlearnable::Refused(_) => "401",
            };
            assert!(told.contains(because), "{told}");
        }
    }
}

#[test]
fn a_wait_that_ends_at_its_limit_is_reported() {
    for end in ENDINGS {
        let script = Arc::new(Script::shut());
        let client = client(&script);
        end(&client, Duration::from_millis(1));
        let told = client.stats().last_problem.unwrap();
        assert!(told.contains("stops waiting for its memory"), "{told}");
        script.open();
    }
}

#[test]
fn while_the_thread_unwinds_the_wait_is_short() {
    let client = builder().shutdown_timeout(Duration::ZERO);
    let client = client.transport(Arc::new(Script::shut())).unwrap();
    let for_ever = Duration::from_secs(3_600);
    let unwound = catch_unwind(|| {
        let _run = client
            .trace("task")
            .until_learned(for_ever)
            .start_blocking();
        resume_unwind(Box::new("the tool broke"));
    });
    assert!(unwound.is_err());
}

#[test]
fn an_awaited_wait_ends_at_its_limit_too() {
    let client = client(&Arc::new(Script::shut()));
    let limit = Duration::from_millis(20);
    let run = pollster::block_on(client.trace("task").until_learned(limit).into_future());
    run.set_output(TraceOutput::new("done").pass());
    let error = pollster::block_on(run.finish()).unwrap_err();
    assert!(matches!(error, Error::Timeout { .. }), "{error}");
    let output = client
        .trace("task")
        .until_learned(limit)
        .run_async(async |_| "done");
    assert_eq!(pollster::block_on(output), "done");
}

#[test]
fn a_server_on_the_very_runtime_that_is_held_up_cannot_cause_a_deadlock() {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        // It accepts, but nothing on this runtime can ever answer while the drop waits.
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            let mut open = Vec::new();
            while let Ok((stream, _)) = listener.accept().await {
                open.push(stream);
            }
        });
        let limit = Duration::from_millis(50);
        let client = builder()
            .shutdown_timeout(Duration::ZERO)
            .http(address, "key")
            .unwrap();
        let run = client
            .trace("task")
            .no_retrieval()
            .until_learned(limit)
            .start_blocking();
        run.set_output(TraceOutput::new("done").pass());
        drop(run);
    });
}

#[test]
fn a_run_without_a_verdict_waits_until_it_is_stored() {
    let client = slow();
    let run = client.trace("task").until_learned(true).start_blocking();
    run.set_output(TraceOutput::new("done"));
    let handle = run.handle();
    drop(run);
    assert!(handle.trace_id().is_some());
}
