//! The ways in which a guard ends, and what is recorded.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use reflect_sdk::{Message, ReflectClient, TraceContext, TraceGuard, TraceOutput, Verdict};
use reflect_types::{CreateTrace, ErrorCode, Trajectory};
use serde_json::json;

use crate::LIMIT;
use crate::script::{Script, client};

/// Runs the body with a guard; returns what was recorded.
fn recorded(body: impl FnOnce(TraceGuard)) -> Vec<CreateTrace> {
    recorded_by(|client| body(client.trace("task").start_blocking()))
}

pub(crate) fn recorded_by(body: impl FnOnce(&ReflectClient)) -> Vec<CreateTrace> {
    let script = Arc::new(Script::with_memory("m1"));
    let client = client(&script);
    // A panic is part of some tests.
    let _ = catch_unwind(AssertUnwindSafe(|| body(&client)));
    let report = client.blocking().flush(LIMIT);
    assert!(report.all_sent(), "{report:?}");
    let taken = script.taken();
    let attempts = *script.attempts.lock().unwrap();
    assert_eq!(attempts, taken.len(), "every run is submitted once");
    taken
}

pub(crate) fn only(traces: Vec<CreateTrace>) -> CreateTrace {
    let [trace] = <[CreateTrace; 1]>::try_from(traces).unwrap();
    trace
}

pub(crate) fn judged(trace: &CreateTrace) -> (Verdict, &str) {
    let review = trace.review.as_ref().unwrap();
    let feedback = review.feedback_text.as_deref();
    (review.result, feedback.unwrap_or_default())
}

#[test]
fn a_guard_that_is_dropped_with_an_output_submits_it_once() {
    let trace = only(recorded(|run| {
        assert_eq!(run.task(), "task");
        assert!(run.augmented_task().contains("ask first"));
        assert_eq!(run.memory_ids(), ["m1"]);
        assert_eq!(run.memories()[0].reflection, "ask first");
        run.set_output(TraceOutput::new("done").pass().model("m").metadata("k", 1));
    }));
    assert_eq!(trace.task, "task");
    assert_eq!(trace.trajectory, Trajectory::from("done"));
    assert_eq!(trace.retrieved_memory_ids, ["m1"]);
    assert_eq!(trace.model.as_deref(), Some("m"));
    assert_eq!(trace.metadata, *json!({"k": 1}).as_object().unwrap());
    assert_eq!(trace.review.unwrap().result, Verdict::Pass);
}

#[tokio::test]
async fn a_finished_guard_has_submitted_once_and_knows_the_trace() {
    let script = Arc::new(Script::default());
    let client = client(&script);
    let run = client.trace("task").await;
    let (handle, context) = (run.handle(), run.context().clone());
    assert_eq!(context.trace_id(), None);
    run.set_output(TraceOutput::new("done"));
    let receipt = run.finish().await.unwrap();
    assert_eq!(handle.trace_id(), Some(receipt.trace_id.clone()));
    assert_eq!(context.trace_id(), Some(receipt.trace_id.clone()));
    assert_eq!(handle.wait().await.unwrap(), receipt);
    assert_eq!(script.keys(), [context.run_id()]);
    // The script, like the server, takes a key once; so what counts is what was tried.
    assert!(client.flush(LIMIT).await.all_sent());
    assert_eq!(*script.attempts.lock().unwrap(), 1);
}

#[test]
fn a_discarded_run_leaves_no_trace() {
    let script = Arc::new(Script::default());
    let client = client(&script);
    let run = client.trace("task").start_blocking();
    run.set_output(TraceOutput::new("done").pass());
    let handle = run.handle();
    run.discard();
    let error = handle.wait_blocking(LIMIT).unwrap_err();
    assert!(error.to_string().contains("discarded"), "{error}");
    assert_eq!(client.stats().discarded, 1);
    assert!(client.blocking().flush(LIMIT).all_sent());
    assert!(script.taken().is_empty());
}

#[test]
fn finishing_without_an_output_says_that_nothing_was_recorded() {
    let client = client(&Arc::new(Script::default()));
    let run = client.trace("task").start_blocking();
    let error = run.finish_blocking(LIMIT).unwrap_err();
    assert!(error.to_string().contains("without output"), "{error}");
}

#[test]
fn a_panic_fails_the_run_with_its_message_and_place() {
    let trace = only(recorded(|run| {
        run.record(Message::assistant("step 1"));
        panic!("the tool broke in {}", run.task());
    }));
    assert_eq!(judged(&trace), (Verdict::Fail, "the tool broke in task"));
    let place = trace.metadata["panicked_at"].as_str().unwrap();
    assert!(place.contains("endings.rs:"), "{place}");
    let step = Message::assistant("step 1");
    assert_eq!(trace.trajectory, Trajectory::from([step]));
}

#[test]
fn a_run_without_messages_fails_with_its_task_as_the_trajectory() {
    let trace = only(recorded(|_run| panic!("at once")));
    assert_eq!(trace.trajectory, Trajectory::from([Message::user("task")]));
}

#[test]
fn a_panic_after_the_output_fails_the_run_but_keeps_the_output() {
    let traces = recorded_by(|client| {
        for output in [
            TraceOutput::new("did a lot").pass(),
            TraceOutput::new("did a lot").fail("too slow"),
        ] {
            let run = client.trace("task").start_blocking();
            let _ = catch_unwind(AssertUnwindSafe(|| {
                let run = run;
                run.set_output(output);
                panic!("late");
            }));
        }
    });
    assert_eq!(judged(&traces[0]), (Verdict::Fail, "late"));
    assert_eq!(judged(&traces[1]), (Verdict::Fail, "too slow"));
    assert_eq!(traces[0].trajectory, Trajectory::from("did a lot"));
}

#[test]
fn a_panic_that_was_caught_does_not_taint_the_run() {
    let trace = only(recorded(|run| {
        let _ = catch_unwind(|| panic!("handled"));
        run.set_output(TraceOutput::new("recovered").pass());
    }));
    assert_eq!(judged(&trace), (Verdict::Pass, ""));
}

#[test]
fn a_panic_that_was_over_leaves_no_stale_message() {
    let traces = recorded_by(|client| {
        // The hook must be there to note the first panic at all.
        client.trace("warm-up").start_blocking().discard();
        // Any change of the run after it shows that the panic is over.
        let uses: [Option<fn(&TraceGuard)>; 4] = [
            None,
            Some(|run| run.record(Message::assistant("went on"))),
            Some(|run| run.set_output(TraceOutput::recorded())),
            Some(|run| drop(run.fail_on_err(Ok::<(), String>(())))),
        ];
        for within_the_run in uses {
            let _ = catch_unwind(AssertUnwindSafe(|| {
                if within_the_run.is_none() {
                    let _ = catch_unwind(|| panic!("handled"));
                }
                let run = client.trace("task").start_blocking();
                if let Some(go_on) = within_the_run {
                    let _ = catch_unwind(|| panic!("handled"));
                    go_on(&run);
                }
                // No hook sees this one.
                resume_unwind(Box::new("silent"));
            }));
        }
    });
    assert_eq!(traces.len(), 4);
    for trace in &traces {
        assert_eq!(judged(trace), (Verdict::Fail, "panicked"));
        assert_eq!(
            trace.metadata,
            *json!({"outcome": "error"}).as_object().unwrap()
        );
    }
}

#[test]
fn a_panic_that_was_over_for_another_run_is_over_for_all_on_the_thread() {
    let traces = recorded_by(|client| {
        let uses: [fn(&ReflectClient, &TraceContext); 2] = [
            |_, context| context.record(Message::assistant("went on")),
            |client, _| client.trace("other").start_blocking().discard(),
        ];
        for go_on in uses {
            let _ = catch_unwind(AssertUnwindSafe(|| {
                let run = client.trace("task").start_blocking();
                let context = run.context().clone();
                let _ = catch_unwind(|| panic!("handled"));
                go_on(client, &context);
                resume_unwind(Box::new("silent"));
            }));
        }
    });
    assert_eq!(traces.len(), 2);
    for trace in &traces {
        assert_eq!(judged(trace), (Verdict::Fail, "panicked"));
    }
}

/// A destructor does not learn which panic unwinds it.
#[test]
fn a_guard_takes_the_last_panic_of_its_thread_for_its_own() {
    let trace = only(recorded(|_run| {
        let _ = catch_unwind(|| panic!("handled"));
        // No hook sees this one.
        resume_unwind(Box::new("silent"));
    }));
    assert_eq!(judged(&trace), (Verdict::Fail, "handled"));

    let trace = only(recorded_by(|client| {
        let innocent = async {
            let run = client.trace("innocent").no_retrieval().start_blocking();
            std::future::pending::<()>().await;
            drop(run);
        };
        pollster::block_on(async { tokio::join!(innocent, async { panic!("sibling") }) });
    }));
    assert_eq!(judged(&trace), (Verdict::Fail, "sibling"));
}

#[test]
fn a_closure_knows_which_panic_ends_it() {
    let trace = only(recorded_by(|client| {
        client.trace("task").run(|_| -> String {
            let _ = catch_unwind(|| panic!("handled"));
            resume_unwind(Box::new("silent"));
        });
    }));
    assert_eq!(judged(&trace), (Verdict::Fail, "silent"));
    assert_eq!(
        trace.metadata,
        *json!({"outcome": "error"}).as_object().unwrap()
    );
}

#[test]
fn a_run_within_a_destructor_is_not_blamed_for_the_panic_around_it() {
    struct Cleanup<'a>(&'a ReflectClient);
    impl Drop for Cleanup<'_> {
        fn drop(&mut self) {
            let run = self.0.trace("clean up").start_blocking();
            let _ = catch_unwind(|| panic!("handled"));
            run.set_output(TraceOutput::new("cleaned").pass());
        }
    }
    let trace = only(recorded_by(|client| {
        let _cleanup = Cleanup(client);
        panic!("elsewhere");
    }));
    assert_eq!(trace.task, "clean up");
    assert_eq!(judged(&trace), (Verdict::Pass, ""));
}

#[test]
fn a_panic_is_recorded_although_a_destructor_changes_the_run_meanwhile() {
    struct Cleanup<'a>(&'a TraceGuard);
    impl Drop for Cleanup<'_> {
        fn drop(&mut self) {
            self.0.record(Message::assistant("cleaned"));
        }
    }
    let trace = only(recorded(|run| {
        let _cleanup = Cleanup(&run);
        panic!("my own");
    }));
    assert_eq!(judged(&trace), (Verdict::Fail, "my own"));
    let cleaned = Message::assistant("cleaned");
    assert_eq!(trace.trajectory, Trajectory::from([cleaned]));
}

#[test]
fn an_error_handed_through_the_guard_fails_the_run() {
    let trace = only(recorded(|run| {
        let parsed = run.fail_on_err("seven".parse::<i32>());
        assert!(parsed.is_err());
    }));
    let expected = (Verdict::Fail, "invalid digit found in string");
    assert_eq!(judged(&trace), expected);
    assert!(!trace.metadata.contains_key("panicked_at"));
}

#[test]
fn an_error_that_was_dealt_with_does_not_fail_the_run() {
    let trace = only(recorded(|run| {
        assert_eq!(run.fail_on_err(Ok::<_, String>(1)), Ok(1));
        let _ = run.fail_on_err("seven".parse::<i32>());
        run.set_output(TraceOutput::new("used a default").pass());
    }));
    assert_eq!(judged(&trace), (Verdict::Pass, ""));
}

#[test]
fn a_run_whose_retrieval_fails_starts_without_memories() {
    let script = Arc::new(Script::default());
    *script.memories.lock().unwrap() = Err(ErrorCode::Unauthorized);
    let client = client(&script);
    let run = client.trace("task").start_blocking();
    assert_eq!(run.retrieval_error().unwrap().status(), Some(401));
    assert!(run.augmented_task().starts_with("task"));
    assert_eq!(client.stats().retrievals_failed, 1);
    let error = client.trace("task").strict().start_blocking().unwrap_err();
    assert_eq!(error.status(), Some(401));
}
