//! How a guard can end, and what is recorded then.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Duration;

use reflect_sdk::{Error, Message, ReflectClient, TraceGuard, TraceOutput, Verdict};
use reflect_types::{CreateTrace, ErrorCode, Trajectory};
use serde_json::json;

use crate::script::{Script, client};

const LIMIT: Duration = Duration::from_secs(10);

/// Runs the body with a guard in scope; gives back what was recorded.
fn recorded(body: impl FnOnce(TraceGuard)) -> Vec<CreateTrace> {
    recorded_by(|client| body(client.trace("task").start_blocking()))
}

fn recorded_by(body: impl FnOnce(&ReflectClient)) -> Vec<CreateTrace> {
    let script = Arc::new(Script::with_memory("m1"));
    let client = client(&script);
    // A panic is part of some tests.
    let _ = catch_unwind(AssertUnwindSafe(|| body(&client)));
    let report = client.blocking().flush(LIMIT);
    assert!(report.all_sent(), "{report:?}");
    script.taken()
}

fn only(traces: Vec<CreateTrace>) -> CreateTrace {
    let [trace] = <[CreateTrace; 1]>::try_from(traces).unwrap();
    trace
}

fn feedback(trace: &CreateTrace) -> (Verdict, &str) {
    let review = trace.review.as_ref().unwrap();
    (
        review.result,
        review.feedback_text.as_deref().unwrap_or_default(),
    )
}

#[test]
fn a_guard_that_is_dropped_with_an_output_submits_it_once() {
    let trace = only(recorded(|run| {
        assert_eq!(run.task(), "task");
        assert!(run.augmented_task().contains("ask first"));
        assert_eq!(run.memory_ids(), ["m1"]);
        run.set_output(TraceOutput::new("done").pass().model("m").metadata("k", 1));
    }));
    assert_eq!(trace.task, "task");
    assert_eq!(trace.trajectory, Trajectory::from("done"));
    assert_eq!(trace.retrieved_memory_ids, ["m1"]);
    assert_eq!(trace.model.as_deref(), Some("m"));
    assert_eq!(trace.metadata, *json!({"k": 1}).as_object().unwrap());
    assert_eq!(trace.review.unwrap().result, Verdict::Pass);
}

#[test]
fn a_panic_fails_the_run_with_its_message_and_place() {
    let trace = only(recorded(|run| {
        run.record(Message::assistant("step 1"));
        panic!("the tool broke: {}", 7);
    }));
    assert_eq!(feedback(&trace), (Verdict::Fail, "the tool broke: 7"));
    let place = trace.metadata["panicked_at"].as_str().unwrap();
    assert!(place.contains("endings.rs:"), "{place}");
    assert_eq!(
        trace.trajectory,
        Trajectory::from([Message::assistant("step 1")])
    );
}

#[test]
fn an_abandoned_run_is_not_sent_but_counted() {
    let script = Arc::new(Script::default());
    let client = client(&script);
    let run = client.trace("task").start_blocking();
    let handle = run.handle();
    drop(run);
    let error = handle.wait_blocking(LIMIT).unwrap_err();
    assert!(matches!(error, Error::NotRecorded(_)), "{error}");
    assert_eq!(client.stats().abandoned, 1);
    assert!(script.taken().is_empty());
}

#[test]
fn a_run_whose_memories_do_not_come_starts_without_them() {
    let script = Arc::new(Script::default());
    *script.memories.lock().unwrap() = Err(ErrorCode::Unauthorized);
    let client = client(&script);
    let run = client.trace("task").start_blocking();
    assert_eq!(run.retrieval_error().unwrap().status(), Some(401));
    assert_eq!(run.augmented_task(), "task");
    let error = client.trace("task").strict().start_blocking().unwrap_err();
    assert_eq!(error.status(), Some(401));
}

#[test]
fn a_panic_that_was_over_before_the_guard_leaves_no_stale_message() {
    let trace = only(recorded_by(|client| {
        // The hook must be there to note the first panic at all.
        client.trace("warm-up").start_blocking().discard();
        let _ = catch_unwind(|| panic!("handled"));
        let _run = client.trace("task").start_blocking();
        resume_unwind(Box::new("silent"));
    }));
    assert_eq!(feedback(&trace), (Verdict::Fail, "panicked"));
}
