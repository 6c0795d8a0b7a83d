//! A run inside a traced function.

use std::panic::{AssertUnwindSafe, catch_unwind};

use reflect_sdk::{TraceOutput, TraceResult, Verdict};
use reflect_types::CreateTrace;
use reflexion::{Attempt, Message, Outcome, Reflexion, ReflexionError, Trajectory};

use super::server::{LIMIT, Server};
use super::support::{Bench, Broken};

async fn recorded(server: &Server) -> CreateTrace {
    let [trace] = <[CreateTrace; 1]>::try_from(server.traces().await).unwrap();
    assert_eq!(trace.task, "the task", "without the memories");
    assert_eq!(trace.retrieved_memory_ids, ["m1"]);
    trace
}

fn review(trace: &CreateTrace) -> (Verdict, String) {
    let review = trace.review.clone().unwrap();
    (review.result, review.feedback_text.unwrap_or_default())
}

#[tokio::test]
async fn a_traced_run_is_recorded_and_returned_whole_and_only_its_actor_sees_the_memories() {
    let (server, bench) = (Server::start().await, Bench::default());
    let client = server.client();
    let reflexion = bench.builder(2).build().unwrap();
    let outcome: Result<Outcome, ReflexionError> = client
        .trace("the task")
        .run_async(|ctx| reflexion.run(ctx).traced())
        .await;
    assert_eq!(outcome.unwrap().trials.len(), 2);
    assert!(client.flush(LIMIT).await.all_sent());

    let trace = recorded(&server).await;
    let lessons = "After trial 1: lesson 1".to_owned();
    assert_eq!(review(&trace), (Verdict::Pass, lessons));
    assert_eq!(trace.final_response.as_deref(), Some("answer 2"));
    assert_eq!(trace.metadata["reflexion"]["trials"], 2);
    assert_eq!(trace.metadata["reflexion"]["status"], "succeeded");

    for attempt in bench.attempts.all() {
        assert!(attempt.prompt.contains("ask first"));
    }
    assert!(bench.tasks().iter().eq(["the task"]));
}

#[tokio::test]
async fn an_outcome_becomes_a_trace_result_with_the_answer_for_the_caller() {
    let server = Server::start().await;
    let client = server.client();
    let reflexion = Bench::default().builder(9).max_trials(2).build().unwrap();
    let answer: Result<String, ReflexionError> = client
        .trace("the task")
        .run_async(async |ctx| {
            let outcome = reflexion.run(&ctx).await?;
            Ok::<_, ReflexionError>(TraceResult::from(outcome).model("m"))
        })
        .await;
    assert_eq!(answer.unwrap(), "answer 2");
    assert!(client.flush(LIMIT).await.all_sent());

    let trace = recorded(&server).await;
    assert_eq!(trace.model.as_deref(), Some("m"));
    let feedback = "feedback 2\n\nAfter trial 1: lesson 1".to_owned();
    assert_eq!(review(&trace), (Verdict::Fail, feedback));
}

#[tokio::test]
async fn an_error_fails_the_trace_with_the_messages_of_the_last_trial() {
    let server = Server::start().await;
    let client = server.client();
    let builder = Bench::default().builder(0);
    let reflexion = builder
        .evaluate_with(|_| Err::<bool, _>(Broken("mine")))
        .build()
        .unwrap();
    let run = client.trace("the task").await;
    let error = reflexion.run(run.task()).await.unwrap_err();
    run.set_output(TraceOutput::from(&error));
    run.finish().await.unwrap();

    let trace = recorded(&server).await;
    let text = "the evaluator failed in trial 1: mine".to_owned();
    assert_eq!(review(&trace), (Verdict::Fail, text));
    let messages = vec![Message::user("the task"), Message::assistant("answer 1")];
    assert_eq!(trace.trajectory, messages.into());
}

#[tokio::test]
async fn an_error_in_the_first_trial_keeps_the_recorded_messages() {
    let server = Server::start().await;
    let client = server.client();
    let reflexion = Reflexion::builder(|_: Attempt| async { Err::<String, _>(Broken("mine")) });
    let reflexion = reflexion
        .evaluate_with(|_| true)
        .max_trials(1)
        .build()
        .unwrap();
    let ended = client.trace("the task").run_async(|ctx| {
        ctx.record(Message::assistant("step 1"));
        reflexion.run(ctx).traced()
    });
    ended.await.unwrap_err();
    assert!(client.flush(LIMIT).await.all_sent());
    let trace = recorded(&server).await;
    assert_eq!(trace.trajectory, vec![Message::assistant("step 1")].into());
    assert_eq!(review(&trace).1, "the actor failed in trial 1: mine");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_of_the_evaluator_fails_the_guard_around_it() {
    fn judge(_: &Trajectory) -> bool {
        panic!("the evaluator panics")
    }
    let server = Server::start().await;
    let client = server.client();
    let reflexion = Bench::default().builder(0).evaluate_with(judge);
    let reflexion = reflexion.build().unwrap();
    let caught = catch_unwind(AssertUnwindSafe(|| {
        let run = client.trace("the task").start_blocking();
        pollster::block_on(reflexion.run(run.context()))
    }));
    assert!(caught.is_err());
    assert!(client.flush(LIMIT).await.all_sent());
    let text = "the evaluator panics".to_owned();
    assert_eq!(review(&recorded(&server).await), (Verdict::Fail, text));
}

#[tokio::test]
async fn a_plain_run_can_be_returned_from_a_traced_function() {
    let server = Server::start().await;
    let client = server.client();
    let reflexion = Bench::default().builder(2).build().unwrap();
    let outcome = client
        .trace("the task")
        .run_async(|ctx| reflexion.run(ctx))
        .await;
    assert!(outcome.unwrap().succeeded());
    assert!(client.flush(LIMIT).await.all_sent());
    assert_eq!(review(&recorded(&server).await).0, Verdict::Pass);
}
