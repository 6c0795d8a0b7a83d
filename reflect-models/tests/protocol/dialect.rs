//! Servers that accept different parameters.

use std::sync::Arc;

use reflect_model_server::{Act, ModelServer};
use tokio::sync::Barrier;

use super::calls::all_at_once;
use super::{prompt, quick, say, server};

#[tokio::test]
async fn refused_parameters_are_replaced_and_remembered() {
    let server = server([
        Act::Reject("Unsupported parameter: 'max_tokens'".to_owned()),
        Act::Reject("'response_format' is not supported".to_owned()),
    ])
    .await;
    let client = quick(&server).build().unwrap();
    client.complete(&prompt().json()).await.unwrap();
    client.complete(&prompt().json()).await.unwrap();
    let asked = server.asked();
    assert_eq!(asked.len(), 4);
    for later in &asked[2..] {
        assert_eq!(later.body["max_completion_tokens"], 2_000);
        assert!(later.body.get("max_tokens").is_none());
        assert!(later.body.get("response_format").is_none());
    }
    // Refused requests count as well.
    let usage = client.usage();
    assert_eq!((usage.calls, usage.failures), (4, 2));
}

#[tokio::test]
async fn concurrent_requests_all_learn_the_dialect() {
    let refusals = Arc::new(Barrier::new(8));
    let refuse = move |name: &str| {
        let reject = Act::Reject(format!("Unsupported parameter: '{name}'"));
        Act::Meet(Arc::clone(&refusals), Box::new(reject))
    };
    let server = ModelServer::start(move |asked| {
        if asked.body.get("max_tokens").is_some() {
            return refuse("max_tokens");
        }
        if asked.body.get("response_format").is_some() {
            return refuse("response_format");
        }
        say("understood")
    });
    let server = server.await.unwrap();
    let client = quick(&server).attempts(1).build().unwrap();
    for answer in all_at_once(&client, 8).await {
        assert_eq!(answer.unwrap(), "understood");
    }
    assert_eq!(server.asked().len(), 24);
}

#[tokio::test]
async fn a_limit_that_is_too_large_keeps_its_name() {
    let server = server([Act::Reject("max_tokens is too large: 2000".to_owned())]).await;
    let client = quick(&server).build().unwrap();
    let error = client.complete(&prompt()).await.unwrap_err();
    assert!(error.to_string().contains("too large"), "{error}");
    client.complete(&prompt()).await.unwrap();
    assert_eq!(server.asked()[1].body["max_tokens"], 2_000);
}

#[tokio::test]
async fn a_server_that_accepts_neither_name_gets_each_once() {
    let server = ModelServer::start(|asked| {
        let newer = asked.body.get("max_completion_tokens").is_some();
        let name = if newer {
            "max_completion_tokens"
        } else {
            "max_tokens"
        };
        Act::Reject(format!("Unrecognized request argument supplied: {name}"))
    });
    let server = server.await.unwrap();
    let client = quick(&server).build().unwrap();
    let error = client.complete(&prompt()).await.unwrap_err();
    assert!(error.to_string().contains("Unrecognized"), "{error}");
    assert_eq!(server.asked().len(), 2);
}
