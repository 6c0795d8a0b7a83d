//! Storing runs.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use reflect_sdk::Verdict;
use reflect_types::{CreateTrace, Review, Reviewer, Trajectory};
use reflexion::{
    Attempt, Evaluation, FeedbackReflection, Message, Persist, Reflexion, ReflexionError, Status,
};
use serde_json::json;
use tokio::sync::Notify;

use super::server::{LIMIT, Server};
use super::support::{Bench, Broken, run, scripted_llm};

fn only(traces: Vec<CreateTrace>) -> CreateTrace {
    let [trace] = <[CreateTrace; 1]>::try_from(traces).unwrap();
    trace
}

fn review(trace: &CreateTrace) -> (Verdict, &str) {
    let review = trace.review.as_ref().unwrap();
    let feedback = review.feedback_text.as_deref();
    (review.result, feedback.unwrap_or_default())
}

fn said(text: &str) -> Trajectory {
    vec![Message::user("the task"), Message::assistant(text)].into()
}

#[tokio::test]
async fn one_trace_per_run_is_stored_unless_each_trial_is_asked_for() {
    let (server, bench) = (Server::start().await, Bench::default());
    let builder = bench.builder(3).recall(&server.client(), 1);
    let outcome = server.persist(builder, Persist::default()).await.unwrap();
    assert_eq!(outcome.trace_ids, ["0198"]);
    assert!(outcome.persist_errors.is_empty());

    let trace = only(server.traces().await);
    assert_eq!(trace.task, "the task");
    assert_eq!(trace.trajectory, said("answer 3"));
    assert_eq!(trace.final_response.as_deref(), Some("answer 3"));
    assert_eq!(trace.retrieved_memory_ids, ["m1"]);
    let lessons = "After trial 1: lesson 1\n\nAfter trial 2: lesson 2";
    assert_eq!(review(&trace), (Verdict::Pass, lessons));
    let metadata = json!({"reflexion": {
        "run": outcome.run_id, "trials": 3, "status": "succeeded", "scores": [null, null, null],
        "reflections": ["lesson 1", "lesson 2"],
    }});
    assert_eq!(serde_json::to_value(&trace.metadata).unwrap(), metadata);
}

#[tokio::test]
async fn an_exhausted_run_is_stored_as_failed_with_feedback_and_reflections() {
    let (server, bench) = (Server::start().await, Bench::default());
    let builder = bench.builder(9).max_trials(2);
    let outcome = server.persist(builder, Persist::Final).await;
    assert_eq!(outcome.unwrap().status, Status::Exhausted);
    let trace = only(server.traces().await);
    let feedback = "feedback 2\n\nAfter trial 1: lesson 1";
    assert_eq!(review(&trace), (Verdict::Fail, feedback));
    assert_eq!(trace.metadata["reflexion"]["status"], "exhausted");
}

#[tokio::test]
async fn each_trial_is_stored_with_its_reflection_and_only_the_last_credits_memories() {
    let (server, bench) = (Server::start().await, Bench::default());
    let builder = bench.builder(3).recall(&server.client(), 1).memory_size(0);
    let outcome = server.persist(builder, Persist::EachTrial).await;
    assert_eq!(outcome.unwrap().trace_ids.len(), 3);

    let traces = server.traces().await;
    assert_eq!(traces.len(), 3);
    for (trace, number) in traces.iter().zip(1..) {
        assert_eq!(trace.task, "the task", "never what was recalled or learned");
        assert_eq!(trace.trajectory, said(&format!("answer {number}")));
        assert_eq!(trace.metadata["reflexion"]["trial"], number);
        assert_eq!(
            trace.metadata["reflexion"]["run"],
            traces[0].metadata["reflexion"]["run"]
        );
    }
    let credited = traces.iter().map(|trace| trace.retrieved_memory_ids.len());
    assert!(credited.eq([0, 0, 1]));

    assert_eq!(
        review(&traces[1]),
        (Verdict::Fail, "feedback 2\n\nlesson 2")
    );
    let lesson = traces[1].review.clone().unwrap().reflection.unwrap();
    assert_eq!(lesson.guidance, "lesson 2");
    assert_eq!(lesson.key_mistake, "feedback 2");
    assert_eq!(
        traces[2].review,
        Some(Review::pass().reviewer(Reviewer::Program))
    );
    assert_eq!(traces[2].metadata["reflexion"]["status"], "succeeded");
}

#[tokio::test]
async fn feedback_that_replaces_a_reflection_is_stored_once() {
    let (server, bench) = (Server::start().await, Bench::default());
    let builder = bench.builder(9).self_reflection(FeedbackReflection);
    let builder = builder.reflect_on_last_failure(true).max_trials(1);
    server.persist(builder, Persist::EachTrial).await.unwrap();
    let trace = only(server.traces().await);
    assert_eq!(
        trace.review,
        Some(Review::fail("feedback 1").reviewer(Reviewer::Program))
    );
}

#[tokio::test]
async fn an_error_is_stored_as_a_failed_run_with_its_messages() {
    let server = Server::start().await;
    for what in [Persist::Final, Persist::EachTrial] {
        let builder = Bench::default().builder(0).max_trials(1);
        let builder = builder.evaluate_with(|_| Err::<bool, _>(Broken("mine")));
        let error = server.persist(builder, what).await.unwrap_err();
        assert_eq!(error.into_partial().unwrap().trace_ids, ["0198"]);
    }
    for trace in server.traces().await {
        assert_eq!(trace.trajectory, said("answer 1"));
        let text = "the evaluator failed in trial 1: mine";
        assert_eq!(review(&trace), (Verdict::Fail, text));
        assert_eq!(trace.metadata["reflexion"]["status"], "aborted");
    }
}

#[tokio::test]
async fn an_unfinished_trial_is_stored_as_failed() {
    let server = Server::start().await;
    let builder = Reflexion::builder(|attempt: Attempt| async move {
        match attempt.trial {
            1 => Ok("answer 1"),
            _ => Err(Broken("mine")),
        }
    })
    .evaluate_with(|_| false)
    .reflect_with(|_| "lesson 1")
    .recall(&server.client(), 1);
    let result = server.persist(builder, Persist::EachTrial).await;
    assert!(result.is_err());
    let traces = server.traces().await;
    assert_eq!(traces.len(), 2);
    assert_eq!(traces[0].retrieved_memory_ids.len(), 0);
    assert_eq!(traces[1].retrieved_memory_ids, ["m1"]);
    assert_eq!(traces[1].trajectory, vec![Message::user("the task")].into());
    let text = "the actor failed in trial 2: mine";
    assert_eq!(review(&traces[1]), (Verdict::Fail, text));
}

#[tokio::test]
async fn a_run_whose_traces_are_refused_is_not_affected() {
    let (server, bench) = (Server::start().await, Bench::default());
    server.refuses_traces(401).await;
    let client = server.client();
    let builder = bench.builder(2).persist(&client, Persist::EachTrial);
    let outcome = run(builder).await.unwrap();
    assert!(outcome.succeeded());
    assert!(outcome.trace_ids.is_empty());
    let trials: Vec<u32> = outcome.persist_errors.iter().map(|e| e.trial).collect();
    assert_eq!(trials, [1, 2]);
    let text = outcome.persist_errors[0].to_string();
    assert!(
        text.starts_with("trial 1 was not stored: ") && text.contains("401"),
        "{text}"
    );
    assert_eq!(client.flush(LIMIT).await.failed, 2);
    let problem = client.stats().last_problem.unwrap();
    assert!(problem.contains("not recorded"), "{problem}");
}

#[tokio::test]
async fn an_unreachable_server_delays_a_run_no_longer_than_its_timeout_and_loses_nothing() {
    let (server, bench) = (Server::start().await, Bench::default());
    server.refuses_traces(503).await;
    let client = server.client();
    let builder = bench.builder(1).persist(&client, Persist::Final);
    let outcome = run(builder.persist_timeout(Duration::from_millis(20)))
        .await
        .unwrap();
    assert!(outcome.succeeded());
    let problem = &outcome.persist_errors[0].problem;
    assert!(problem.contains("still being sent"), "{problem}");
    assert_eq!(client.stats().sent, 0);

    server.takes_traces().await;
    assert!(client.flush(LIMIT).await.all_sent());
    assert_eq!(client.stats().sent, 1);
}

#[tokio::test]
async fn with_strict_persist_an_unstored_run_is_an_error_with_its_outcome() {
    let (server, bench) = (Server::start().await, Bench::default());
    server.refuses_traces(401).await;
    let builder = bench.builder(1).strict_persist(true);
    let error = server.persist(builder, Persist::Final).await.unwrap_err();
    let ReflexionError::Persist { source, outcome } = &error else {
        panic!("another error: {error}")
    };
    let source: &reflect_sdk::Error = source.downcast_ref().unwrap();
    assert_eq!(source.status(), Some(401));
    assert_eq!(outcome.response(), "answer 1");
    assert_eq!(outcome.persist_errors.len(), 1);
    assert_eq!(error.partial(), Some(&**outcome));
}

#[tokio::test]
async fn strict_persist_does_not_hide_the_error_of_a_run() {
    let server = Server::start().await;
    server.refuses_traces(401).await;
    let builder = Bench::default().builder(0);
    let builder = builder.evaluate_with(|_| Err::<bool, _>(Broken("mine")));
    let builder = builder.strict_persist(true);
    let error = server.persist(builder, Persist::Final).await.unwrap_err();
    assert!(matches!(error, ReflexionError::Stage { .. }), "{error}");
    assert_eq!(error.partial().unwrap().persist_errors.len(), 1);
}

#[tokio::test]
async fn a_dropped_run_stores_its_finished_trials() {
    let server = Server::start().await;
    let client = server.client();
    let second = Arc::new(Notify::new());
    let reached = Arc::clone(&second);
    let reflexion = Reflexion::builder(move |attempt: Attempt| {
        let reached = Arc::clone(&reached);
        async move {
            if attempt.trial == 2 {
                reached.notify_one();
                pending::<()>().await;
            }
            "answer"
        }
    })
    .evaluate_with(|_| Evaluation::fail("no"))
    .reflect_with(|_| "lesson")
    .persist(&client, Persist::EachTrial)
    .build()
    .unwrap();
    tokio::select! {
        result = reflexion.run("the task") => panic!("the run ended: {result:?}"),
        () = second.notified() => {}
    }
    assert!(client.flush(LIMIT).await.all_sent());
    assert_eq!(review(&only(server.traces().await)).1, "no\n\nlesson");
}

#[tokio::test]
async fn a_run_ends_when_its_memories_exist() {
    let (server, bench) = (Server::start().await, Bench::default());
    server.shows_traces("pending").await;
    let client = server.client();
    let builder = bench.builder(2).persist(&client, Persist::EachTrial);
    let run = tokio::spawn(run(builder));
    // The second trace is looked up only if the run waits for its memory.
    while server.lookups().await < 2 {
        tokio::task::yield_now().await;
    }
    assert!(!run.is_finished());
    server.shows_traces("reviewed").await;
    let outcome = run.await.unwrap().unwrap();
    assert_eq!(outcome.trace_ids.len(), 2);
    assert!(outcome.persist_errors.is_empty());
}

#[tokio::test]
async fn a_late_memory_is_reported_and_the_trace_is_stored() {
    let (server, bench) = (Server::start().await, Bench::default());
    server.shows_traces("pending").await;
    let builder = bench.builder(1).strict_persist(true);
    let builder = builder.persist_timeout(Duration::from_millis(20));
    let outcome = server.persist(builder, Persist::Final).await.unwrap();
    assert_eq!(outcome.trace_ids, ["0198"]);
    let error = &outcome.persist_errors[0];
    assert_eq!(error.trace_id, Some("0198".into()));
    let text = error.to_string();
    assert!(
        text.starts_with("trial 1 is stored as 0198, without a memory: "),
        "{text}"
    );
}

#[tokio::test]
async fn a_run_need_not_wait_for_its_memories() {
    let (server, bench) = (Server::start().await, Bench::default());
    server.shows_traces("pending").await;
    let builder = bench
        .builder(2)
        .trace_options(|trace| trace.until_learned(false));
    let outcome = server.persist(builder, Persist::EachTrial).await.unwrap();
    assert_eq!(outcome.trace_ids.len(), 2);
    assert!(outcome.persist_errors.is_empty());
    assert_eq!(server.lookups().await, 0);
}

#[tokio::test]
async fn traces_and_queries_take_the_options_of_a_trace() {
    let (server, bench) = (Server::start().await, Bench::default());
    let builder = bench.builder(2).recall(&server.client(), 4);
    let builder = builder.trace_options(|trace| {
        trace
            .lambda(0.25)
            .metadata_filter("customer", "acme")
            .metadata("customer", "acme")
            .model("m")
    });
    server.persist(builder, Persist::EachTrial).await.unwrap();
    let query = server.queries().await.remove(0);
    assert_eq!((query.limit, query.lambda), (4, 0.25));
    assert_eq!(query.metadata_filter.unwrap()["customer"], "acme");
    let traces = server.traces().await;
    assert_eq!(traces.len(), 2);
    for trace in traces {
        assert_eq!(trace.model.as_deref(), Some("m"));
        assert_eq!(trace.metadata["customer"], "acme");
    }
}

#[tokio::test]
async fn a_run_that_panics_is_stored_as_failed() {
    fn judge(_: &reflexion::Trajectory) -> bool {
        panic!("the evaluator panics")
    }
    let server = Server::start().await;
    let client = server.client();
    let builder = Bench::default().builder(0).evaluate_with(judge);
    let builder = builder.persist(&client, Persist::Final);
    let task = tokio::spawn(run(builder));
    assert!(task.await.unwrap_err().is_panic());
    assert!(client.flush(LIMIT).await.all_sent());
    let trace = only(server.traces().await);
    assert_eq!(review(&trace), (Verdict::Fail, "the evaluator panics"));
}

#[tokio::test]
async fn a_bare_verdict_is_neither_feedback_nor_reflection_nor_memory() {
    let server = Server::start().await;
    let replies = &["first", "FAILURE", "FAILURE", "second", "SUCCESS"];
    let (_, llm) = scripted_llm(replies);
    let builder = Reflexion::with_llm(llm);
    let outcome = server.persist(builder, Persist::EachTrial).await.unwrap();
    assert!(outcome.succeeded() && outcome.memory.is_empty());
    assert_eq!(outcome.trials[0].reflection, None);
    for trace in server.traces().await {
        let review = trace.review.unwrap();
        assert_eq!((review.feedback_text, review.reflection), (None, None));
    }
}
