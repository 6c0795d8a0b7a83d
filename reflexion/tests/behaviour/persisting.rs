//! What is stored of a run, and what happens when it cannot be.

use std::future::pending;
use std::time::Duration;

use reflect_sdk::reflexion::{
    Attempt, Evaluation, FeedbackReflection, Outcome, Persist, Reflexion, ReflexionError, Status,
};
use reflect_sdk::{Message, Verdict};
use reflect_types::{CreateTrace, Review, Trajectory};
use serde_json::json;

use super::server::{LIMIT, Server};
use super::support::{Bench, Broken, run};

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
    let client = server.client();
    let builder = bench.builder(3).recall(&client, 1);
    let outcome = run(builder.persist(&client, Persist::default()))
        .await
        .unwrap();
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
        "trials": 3, "status": "succeeded", "scores": [null, null, null],
        "reflections": ["lesson 1", "lesson 2"],
    }});
    assert_eq!(serde_json::to_value(&trace.metadata).unwrap(), metadata);
}

#[tokio::test]
async fn a_run_out_of_trials_is_stored_as_failed_with_feedback_and_lessons() {
    let (server, bench) = (Server::start().await, Bench::default());
    let builder = bench.builder(9).max_trials(2);
    let outcome = run(builder.persist(&server.client(), Persist::Final)).await;
    assert_eq!(outcome.unwrap().status, Status::Exhausted);
    let trace = only(server.traces().await);
    let feedback = "feedback 2\n\nAfter trial 1: lesson 1";
    assert_eq!(review(&trace), (Verdict::Fail, feedback));
    assert_eq!(trace.metadata["reflexion"]["status"], "exhausted");
}

#[tokio::test]
async fn each_trial_is_stored_with_its_own_lesson_and_only_the_last_credits_memories() {
    let (server, bench) = (Server::start().await, Bench::default());
    let client = server.client();
    let builder = bench.builder(3).recall(&client, 1).memory_size(0);
    let outcome = run(builder.persist(&client, Persist::EachTrial))
        .await
        .unwrap();
    assert_eq!(outcome.trace_ids.len(), 3);

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
    let ids: Vec<usize> = traces
        .iter()
        .map(|t| t.retrieved_memory_ids.len())
        .collect();
    assert_eq!(ids, [0, 0, 1]);

    assert_eq!(
        review(&traces[1]),
        (Verdict::Fail, "feedback 2\n\nlesson 2")
    );
    let lesson = traces[1].review.clone().unwrap().reflection.unwrap();
    assert_eq!(lesson.guidance, "lesson 2");
    assert_eq!(lesson.key_mistake, "feedback 2");
    assert_eq!(traces[2].review, Some(Review::pass()));
    assert_eq!(traces[2].metadata["reflexion"]["status"], "succeeded");
}

#[tokio::test]
async fn feedback_that_stands_in_for_a_reflection_is_not_told_twice() {
    let (server, bench) = (Server::start().await, Bench::default());
    let builder = bench.builder(9).self_reflection(FeedbackReflection);
    let builder = builder.reflect_on_last_failure(true).max_trials(1);
    run(builder.persist(&server.client(), Persist::EachTrial))
        .await
        .unwrap();
    let trace = only(server.traces().await);
    assert_eq!(trace.review, Some(Review::fail("feedback 1")));
}

#[tokio::test]
async fn an_error_is_stored_as_a_failed_run_with_what_was_done() {
    let server = Server::start().await;
    for what in [Persist::Final, Persist::EachTrial] {
        let builder = Bench::default().builder(0).max_trials(1);
        let builder = builder.evaluate_with(|_| Err::<bool, _>(Broken("mine")));
        let error = run(builder.persist(&server.client(), what))
            .await
            .unwrap_err();
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
async fn a_trial_that_was_not_finished_is_stored_as_failed() {
    let server = Server::start().await;
    let client = server.client();
    let reflexion = Reflexion::builder(|attempt: Attempt| async move {
        match attempt.trial {
            1 => Ok("answer 1"),
            _ => Err(Broken("mine")),
        }
    });
    let builder = reflexion
        .evaluate_with(|_| false)
        .reflect_with(|_| "lesson 1")
        .recall(&client, 1);
    run(builder.persist(&client, Persist::EachTrial))
        .await
        .unwrap_err();
    let traces = server.traces().await;
    assert_eq!(traces.len(), 2);
    assert_eq!(traces[0].retrieved_memory_ids.len(), 0);
    assert_eq!(traces[1].retrieved_memory_ids, ["m1"]);
    assert_eq!(traces[1].trajectory, vec![Message::user("the task")].into());
    let text = "the actor failed in trial 2: mine";
    assert_eq!(review(&traces[1]), (Verdict::Fail, text));
}

// Row 54.
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
    let told = outcome.persist_errors[0].to_string();
    assert!(
        told.starts_with("trial 1 was not stored: ") && told.contains("401"),
        "{told}"
    );
    assert_eq!(client.flush(LIMIT).await.failed, 2);
    assert!(
        client
            .stats()
            .last_problem
            .unwrap()
            .contains("not recorded")
    );
}

// Row 54.
#[tokio::test]
async fn a_run_does_not_wait_for_a_server_that_is_away_and_loses_nothing() {
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

// Row 54.
#[tokio::test]
async fn strictly_a_run_that_is_not_stored_is_an_error_that_holds_it() {
    let (server, bench) = (Server::start().await, Bench::default());
    server.refuses_traces(401).await;
    let client = server.client();
    let builder = bench.builder(1).persist(&client, Persist::Final);
    let error = run(builder.strict_persist(true)).await.unwrap_err();
    let ReflexionError::Persist { source, outcome } = &error else {
        panic!("another error: {error}")
    };
    let source: &reflect_sdk::Error = source.downcast_ref().unwrap();
    assert_eq!(source.status(), Some(401));
    assert_eq!(outcome.response(), "answer 1");
    assert_eq!(outcome.persist_errors.len(), 1);
    assert_eq!(error.partial(), Some(&**outcome));
}

// Row 54.
#[tokio::test]
async fn strictness_does_not_hide_why_a_run_failed() {
    let server = Server::start().await;
    server.refuses_traces(401).await;
    let builder = Bench::default().builder(0);
    let builder = builder.evaluate_with(|_| Err::<bool, _>(Broken("mine")));
    let builder = builder.persist(&server.client(), Persist::Final);
    let error = run(builder.strict_persist(true)).await.unwrap_err();
    assert!(matches!(error, ReflexionError::Stage { .. }), "{error}");
    assert_eq!(error.partial().unwrap().persist_errors.len(), 1);
}

#[tokio::test]
async fn a_run_that_is_dropped_stores_the_trials_before() {
    let server = Server::start().await;
    let client = server.client();
    let (reached, second) = tokio::sync::mpsc::unbounded_channel();
    let reflexion = Reflexion::builder(move |attempt: Attempt| {
        let reached = reached.clone();
        async move {
            if attempt.trial == 2 {
                reached.send(()).unwrap();
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
    let mut second = second;
    let ended: Option<Result<Outcome, ReflexionError>> = tokio::select! {
        result = reflexion.run("the task") => Some(result),
        _ = second.recv() => None,
    };
    assert!(ended.is_none());
    assert!(client.flush(LIMIT).await.all_sent());
    assert_eq!(review(&only(server.traces().await)).1, "no\n\nlesson");
}
