//! Options of a run, at its start and at its end.

use std::sync::Arc;
use std::time::Duration;

use reflect_sdk::{Error, Message, QueryOptions, ReflectClient, TraceOutput, Verdict};
use reflect_types::{CreateTrace, QueryMemories, Review, Trajectory};
use serde_json::json;

use crate::LIMIT;
use crate::script::{Script, builder, client};

#[test]
fn every_option_of_the_query_is_sent() {
    let script = Arc::new(Script::default());
    let run = client(&script)
        .trace("task")
        .limit(3)
        .lambda(0.3)
        .mmr_lambda(0.9)
        .similarity_threshold(0.2)
        .metadata_filter("customer", "acme")
        .metadata_filter("tier", 2)
        .start_blocking();
    drop(run);
    let queries = script.queries.lock().unwrap();
    assert_eq!(
        serde_json::to_value(&queries[0]).unwrap(),
        json!({
            "task": "task", "limit": 3, "lambda": 0.3, "mmr_lambda": 0.9,
            "similarity_threshold": 0.2, "metadata_filter": {"customer": "acme", "tier": 2}
        })
    );
}

#[test]
fn a_query_replaces_all_options_of_the_query() {
    let script = Arc::new(Script::default());
    let options = QueryOptions::default().limit(3).metadata_filter("tier", 2);
    let run = client(&script)
        .trace("task")
        .lambda(0.3)
        .query(options.clone())
        .start_blocking();
    drop(run);
    assert_eq!(script.queries.lock().unwrap()[0], options.query("task"));
}

#[test]
fn every_option_of_the_trace_is_sent() {
    let script = Arc::new(Script::default());
    let client = client(&script);
    let run = client
        .trace("task")
        .reference_context("refunds within 30 days")
        .alpha(0.1)
        .model("default-model")
        .metadata("k", "start")
        .metadata("only", "start")
        .no_retrieval()
        .start_blocking();
    run.set_output(
        TraceOutput::new([Message::assistant("done")])
            .fail("wrong")
            .metadata("k", "end")
            .final_response("done"),
    );
    run.finish_blocking(LIMIT).unwrap();
    assert!(script.queries.lock().unwrap().is_empty());
    assert_eq!(
        serde_json::to_value(&script.taken()[0]).unwrap(),
        json!({
            "task": "task",
            "trajectory": [{"role": "assistant", "content": "done"}],
            "retrieved_memory_ids": [],
            "model": "default-model",
            "metadata": {"k": "end", "only": "start"},
            "final_response": "done",
            "reference_context": "refunds within 30 days",
            "review": {
                "result": "fail", "feedback_text": "wrong", "alpha": 0.1, "reviewer": "program",
            },
        })
    );
}

#[test]
fn a_later_output_replaces_an_earlier_one_but_its_task_and_alpha_stay() {
    let script = Arc::new(Script::default());
    let client = client(&script);
    let run = client.trace("task").alpha(0.1).start_blocking();
    run.set_output(TraceOutput::new("first").pass().task("really").alpha(0.2));
    run.set_output(TraceOutput::new("second").fail("worse").model("m"));
    run.finish_blocking(LIMIT).unwrap();
    let trace = &script.taken()[0];
    let review = trace.review.as_ref().unwrap();
    assert_eq!((review.result, review.alpha), (Verdict::Fail, Some(0.2)));
    assert_eq!(trace.task, "really");
    assert_eq!(trace.trajectory, Trajectory::from("second"));

    let run = client.trace("task").start_blocking();
    run.set_output(TraceOutput::new("a").task("one").alpha(0.2));
    run.set_output(TraceOutput::new("b").pass().task("two").alpha(0.4));
    run.finish_blocking(LIMIT).unwrap();
    let trace = &script.taken()[1];
    let alpha = trace.review.as_ref().unwrap().alpha;
    assert_eq!((trace.task.as_str(), alpha), ("two", Some(0.4)));
}

#[test]
fn recorded_messages_can_be_the_output() {
    let script = Arc::new(Script::default());
    let client = client(&script);
    let run = client.trace("task").start_blocking();
    run.record(Message::user("question"));
    run.context().clone().record(Message::assistant("answer"));
    run.set_output(TraceOutput::recorded().pass());
    run.finish_blocking(LIMIT).unwrap();
    let expected = [Message::user("question"), Message::assistant("answer")];
    assert_eq!(script.taken()[0].trajectory, Trajectory::from(expected));
}

#[test]
fn a_question_out_of_range_does_not_stop_the_run_unless_it_is_strict() {
    let script = Arc::new(Script::default());
    let client = client(&script);
    let run = client.trace("task").limit(0).start_blocking();
    let error = run.retrieval_error().unwrap();
    assert!(matches!(error, Error::Invalid(_)), "{error}");
    assert!(
        client
            .trace("task")
            .limit(0)
            .strict()
            .start_blocking()
            .is_err()
    );
    assert!(script.queries.lock().unwrap().is_empty());
}

#[test]
fn an_output_out_of_range_is_reported_and_not_sent() {
    let script = Arc::new(Script::default());
    let client = client(&script);
    let run = client.trace("task").start_blocking();
    run.set_output(TraceOutput::new("done").pass().alpha(7.0));
    let error = run.finish_blocking(LIMIT).unwrap_err();
    assert!(error.to_string().contains("alpha"), "{error}");
    assert_eq!(*script.attempts.lock().unwrap(), 0);
    let stats = client.stats();
    assert_eq!(stats.failed, 1);
    assert!(stats.last_problem.unwrap().contains("alpha"));
}

#[test]
fn memories_that_are_late_are_not_waited_for() {
    let script = Arc::new(Script::default());
    *script.slow_queries.lock().unwrap() = true;
    let limit = Duration::from_millis(10);
    let client = builder()
        .retrieval_timeout(limit)
        .transport(script)
        .unwrap();
    let run = client.trace("task").start_blocking();
    let error = run.retrieval_error().unwrap();
    assert!(matches!(error, Error::Timeout { .. }), "{error}");
    let run = pollster::block_on(client.trace("task").retrieval_timeout(limit).into_future());
    assert!(run.retrieval_error().is_some());
}

#[test]
fn memories_can_be_waited_for_without_end() {
    let script = Arc::new(Script::with_memory("m1"));
    let run = client(&script)
        .trace("task")
        .retrieval_timeout(Duration::MAX)
        .start_blocking();
    assert_eq!(run.memories().len(), 1);
}

#[test]
fn a_disabled_client_lets_the_run_continue_and_records_nothing() {
    let client = ReflectClient::disabled();
    let run = client.trace("task").limit(3).start_blocking();
    assert_eq!((run.augmented_task(), run.memories()), ("task", &[][..]));
    assert!(run.retrieval_error().is_none());
    run.set_output(TraceOutput::new("done").pass());
    assert!(matches!(run.finish_blocking(LIMIT), Err(Error::Disabled)));
    let health = client.blocking().health().call();
    assert!(matches!(health, Err(Error::Disabled)));
    assert_eq!(
        client.trace("task").run(|ctx| ctx.task().to_owned()),
        "task"
    );
    assert_eq!(client.stats(), reflect_sdk::DeliveryStats::default());
}

#[test]
fn no_secret_shows_in_anything_that_can_be_printed() {
    let client = builder()
        .http("http://127.0.0.1:1", "rf_live_abc_topsecret")
        .unwrap();
    let building = client.trace("task").retrieval_timeout(LIMIT);
    let shown = format!("{building:?} {:?}", building.clone().strict());
    let run = building.start_blocking();
    let error = run.retrieval_error().unwrap();
    let shown = format!("{shown} {run:?} {error} {error:?} {:?}", run.context());
    run.set_output(TraceOutput::new("done"));
    let error = run.finish_blocking(LIMIT).unwrap_err();
    let shown = format!("{shown} {error} {error:?} {:?}", client.stats());
    assert!(shown.contains("TraceGuard"), "{shown}");
    assert!(!shown.contains("topsecret"), "{shown}");
}

#[test]
fn a_run_over_its_limits_is_recorded_without_what_is_too_long() {
    let script = Arc::new(Script::default());
    let client = client(&script);
    let task = "t".repeat(CreateTrace::MAX_TASK + 1);
    let run = client.trace(&task).start_blocking();
    let feedback = "f".repeat(Review::MAX_FEEDBACK + 1);
    run.set_output(TraceOutput::new("done").fail(feedback));
    let handle = run.handle();
    drop(run);
    handle.wait_blocking(LIMIT).unwrap();

    let queries = script.queries.lock().unwrap();
    assert_eq!(queries[0].task.chars().count(), QueryMemories::MAX_TASK);
    let taken = script.taken.lock().unwrap();
    let sent = &taken[0].1;
    assert!(sent.task.starts_with("tt") && sent.task.ends_with('…'));
    assert_eq!(sent.task.chars().count(), CreateTrace::MAX_TASK);
    let sent = sent.review.as_ref().unwrap().feedback_text.as_ref();
    assert_eq!(sent.unwrap().chars().count(), Review::MAX_FEEDBACK);
}

#[test]
fn a_run_with_too_many_memories_is_recorded_with_the_first_ones() {
    let script = Arc::new(Script::default());
    let memory = |n: usize| {
        let memory = json!({"id": n.to_string(), "task": "old", "reflection": "ask first"});
        serde_json::from_value(memory).unwrap()
    };
    let most = CreateTrace::MAX_RETRIEVED;
    *script.memories.lock().unwrap() = Ok((0..most + 5).map(memory).collect());
    let client = client(&script);
    let run = client.trace("task").start_blocking();
    run.set_output(TraceOutput::new("done").pass());
    run.finish_blocking(LIMIT).unwrap();
    let sent = &script.taken()[0];
    assert_eq!(sent.retrieved_memory_ids.len(), most);
    assert_eq!(sent.retrieved_memory_ids[0], "0");
    let stats = client.stats();
    assert_eq!((stats.sent, stats.failed), (1, 0));
    let problem = stats.last_problem.unwrap();
    assert!(problem.contains("retrieved_memory_ids"), "{problem}");
}
