//! Memories of earlier runs in the prompts of a run.

use std::time::Duration;

use insta::assert_snapshot;
use reflect_sdk::ReflectClient;
use reflexion::Persist;
use wiremock::ResponseTemplate;

use super::server::Server;
use super::support::{Bench, run};

#[tokio::test]
async fn memories_are_retrieved_once_per_run_and_shown_in_every_trial() {
    let (server, bench) = (Server::start().await, Bench::default());
    let client = server.client();
    let outcome = run(bench.builder(3).recall(&client, 4)).await.unwrap();
    assert_eq!(outcome.recalled[0].id, "m1");
    assert_eq!(outcome.recall_error, None);

    let queries = server.queries().await;
    assert_eq!(queries.len(), 1);
    assert_eq!(
        (queries[0].task.as_str(), queries[0].limit),
        ("the task", 4)
    );

    let attempts = bench.attempts.all();
    for attempt in &attempts {
        assert_eq!(attempt.recalled, outcome.recalled);
    }
    assert_snapshot!("first_attempt_with_memories", attempts[0].prompt);
    assert_snapshot!("third_attempt_with_memories", attempts[2].prompt);
    assert!(bench.tasks().iter().eq(["the task"]));
}

#[tokio::test]
async fn without_memories_the_first_prompt_is_the_task_byte_for_byte() {
    let (server, bench) = (Server::start().await, Bench::default());
    let none = ResponseTemplate::new(200).set_body_json(Vec::<()>::new());
    server.recalls(none).await;
    run(bench.builder(1).recall(&server.client(), 4))
        .await
        .unwrap();
    assert_eq!(bench.attempts.all()[0].prompt, "the task");
}

#[tokio::test]
async fn a_run_continues_without_memories_that_are_refused() {
    let (server, bench) = (Server::start().await, Bench::default());
    server.recalls(ResponseTemplate::new(401)).await;
    let client = server.client();
    let outcome = run(bench.builder(1).recall(&client, 4)).await.unwrap();
    assert!(outcome.succeeded());
    assert!(outcome.recall_error.unwrap().contains("401"));
    assert_eq!(bench.attempts.all()[0].prompt, "the task");
    let stats = client.stats();
    assert_eq!(stats.retrievals_failed, 1);
    assert!(stats.last_problem.unwrap().contains("without memories"));
}

#[tokio::test]
async fn a_run_continues_without_memories_that_time_out() {
    let (server, bench) = (Server::start().await, Bench::default());
    let never = ResponseTemplate::new(200).set_delay(Duration::from_secs(600));
    server.recalls(never).await;
    let settings = ReflectClient::builder().retrieval_timeout(Duration::from_millis(20));
    let client = server.client_with(settings);
    let outcome = run(bench.builder(1).recall(&client, 4)).await.unwrap();
    assert!(outcome.succeeded());
    assert_eq!(
        outcome.recall_error.as_deref(),
        Some("asking for memories took longer than 20ms")
    );
}

#[tokio::test]
async fn a_disabled_client_changes_nothing() {
    let (bench, client) = (Bench::default(), ReflectClient::disabled());
    let builder = bench.builder(2).recall(&client, 4).strict_persist(true);
    let outcome = run(builder.persist(&client, Persist::default())).await;
    let outcome = outcome.unwrap();
    assert!(outcome.succeeded());
    assert_eq!(outcome.recall_error, None);
    assert!(outcome.persist_errors.is_empty() && outcome.trace_ids.is_empty());
    assert_eq!(bench.attempts.all()[0].prompt, "the task");
}
