//! Requests, retries and limits.

use std::sync::Arc;
use std::time::Duration;

use reflect_model_server::Act;
use reflect_models::{Client, Error};
use serde_json::json;
use tokio::sync::Barrier;

use super::{prompt, quick, say, server};

#[tokio::test]
async fn a_request_carries_key_and_limit_and_its_tokens_are_counted() {
    let server = server([]).await;
    let client = quick(&server).api_key("sk-test").build().unwrap();
    assert_eq!(client.complete(&prompt()).await.unwrap(), "hello");

    let asked = &server.asked()[0];
    assert_eq!(asked.path, "/v1/chat/completions");
    assert_eq!(asked.authorization.as_deref(), Some("Bearer sk-test"));
    assert_eq!(asked.body["model"], "test-model");
    assert_eq!(asked.body["max_tokens"], 2_000);
    assert_eq!(asked.body["messages"][0]["role"], "system");
    let usage = client.usage();
    assert_eq!((usage.calls, usage.failures), (1, 0));
    assert!(usage.prompt_tokens > 0 && usage.completion_tokens > 0);
}

#[tokio::test]
async fn a_transient_failure_is_retried() {
    for act in [
        Act::Status(500, None),
        Act::Status(503, Some(1)),
        Act::HangUp,
        Act::Body("{\"choices\": [".to_owned()),
        Act::Body("<html>busy</html>".to_owned()),
        Act::Body(json!({"error": {"message": "overloaded"}}).to_string()),
        Act::Body(json!({"choices": []}).to_string()),
        say("  "),
    ] {
        let shown = format!("{act:?}");
        let server = server([act]).await;
        let client = quick(&server).build().unwrap();
        let answer = client.complete(&prompt()).await;
        assert_eq!(answer.unwrap(), "hello", "{shown}");
        assert_eq!(client.usage().calls, 2, "{shown}");
        assert_eq!(client.usage().failures, 1, "{shown}");
    }
}

#[tokio::test]
async fn a_retry_after_beyond_the_longest_wait_ends_the_call() {
    let server = server([Act::Status(429, Some(3_600_000))]).await;
    let client = quick(&server).build().unwrap();
    let error = client.complete(&prompt()).await.unwrap_err();
    assert!(error.is_retryable());
    assert_eq!(error.retry_after(), Some(Duration::from_secs(3_600)));
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn a_lasting_failure_ends_in_the_error_of_the_server() {
    let server = server(vec![Act::Status(500, None); 3]).await;
    let client = quick(&server).build().unwrap();
    let error = client.complete(&prompt()).await.unwrap_err();
    assert!(
        matches!(error, Error::Refused { status: 500, .. }),
        "{error}"
    );
    assert!(error.is_retryable());
    assert_eq!(server.asked().len(), 3);
}

#[tokio::test]
async fn a_final_failure_is_not_retried() {
    for (act, expected) in [
        (Act::Status(401, None), "refused with 401: `scripted`"),
        (
            Act::Refuse("I can't help".into()),
            "declined: `I can't help`",
        ),
        (Act::Filter, "declined: a content filter"),
        (Act::CutOff("half an ans".into()), "cut off at 2000 tokens"),
    ] {
        let server = server([act]).await;
        let client = quick(&server).build().unwrap();
        let error = client.complete(&prompt()).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert!(!error.is_retryable(), "{error}");
        assert_eq!(server.asked().len(), 1, "{error}");
    }
}

#[tokio::test]
async fn a_silent_server_times_out() {
    let server = server([Act::Stall, Act::Stall]).await;
    let client = quick(&server)
        .timeout(Duration::from_millis(50))
        .attempts(2);
    let client = client.build().unwrap();
    let error = client.complete(&prompt()).await.unwrap_err();
    assert!(matches!(error, Error::Timeout(_)), "{error}");
    assert!(error.is_retryable());
    assert_eq!(client.usage().failures, 2);
}

#[tokio::test]
async fn a_missing_server_is_reported_as_unreachable() {
    let client = Client::builder("m").base_url("http://127.0.0.1:9/v1");
    let client = client.attempts(1).api_key("hush").build().unwrap();
    let error = client.complete(&prompt()).await.unwrap_err();
    assert!(error.to_string().contains("cannot be reached"), "{error}");
    assert!(error.is_retryable() && !format!("{error:?}").contains("hush"));
}

#[tokio::test]
async fn embeddings_come_in_one_request_and_in_order() {
    let server = server([Act::Status(500, None)]).await;
    let client = quick(&server).build().unwrap();
    let texts = ["refund order", "ship it", "order refund"];
    let vectors = client.embed(&texts, None).await.unwrap();
    assert_eq!(vectors.len(), 3);
    assert_eq!(vectors[0], vectors[2]);
    assert_ne!(vectors[0], vectors[1]);
    assert_eq!(vectors[0].len(), 64);
    assert_eq!(server.asked().len(), 2);
    let fewer = client.embed(&texts[..1], Some(8)).await.unwrap();
    assert_eq!(fewer[0].len(), 8);
    assert!(client.embed(&[], None).await.unwrap().is_empty());
}

#[tokio::test]
async fn requests_under_way_are_limited() {
    // Neither is answered before the other has arrived.
    let pair = Act::Meet(Arc::new(Barrier::new(2)), Box::new(say("both")));
    let server = server(vec![pair; 8]).await;
    let client = quick(&server).concurrency(2).build().unwrap();
    for answer in all_at_once(&client, 8).await {
        assert_eq!(answer.unwrap(), "both");
    }
    assert_eq!(server.most_at_once(), 2);
}

pub(super) async fn all_at_once(
    client: &Client,
    requests: usize,
) -> Vec<reflect_models::Result<String>> {
    let asking: Vec<_> = (0..requests)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.complete(&prompt().json()).await })
        })
        .collect();
    let mut answers = Vec::new();
    for one in asking {
        answers.push(one.await.unwrap());
    }
    answers
}
