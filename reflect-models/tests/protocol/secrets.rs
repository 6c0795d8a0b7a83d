//! Keys and replies stay out of errors and logs.

use std::sync::{Arc, Mutex};

use reflect_model_server::Act;
use reflect_models::Error;
use serde_json::json;

use super::{prompt, quick, server};

#[tokio::test]
async fn a_key_that_a_server_repeats_is_masked() {
    let key = "sk-hush-hush";
    for act in [
        Act::Reject(format!("{} Incorrect API key: {key}", "x".repeat(170))),
        Act::Body(format!("<html>{key}</html>")),
        Act::Body(json!({"error": {"message": key}}).to_string()),
        Act::Body(json!({"choices": key}).to_string()),
    ] {
        let server = server([act]).await;
        let client = quick(&server).api_key(key).attempts(1).build().unwrap();
        let error = client.complete(&prompt()).await.unwrap_err();
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains("sk-"), "{shown}");
        assert!(shown.contains("***"), "{shown}");
    }
}

#[tokio::test]
async fn a_malformed_reply_is_not_logged() {
    let log = Log::default();
    let _logging = tracing::subscriber::set_default(log.clone());
    for body in [
        json!({"choices": "a secret"}).to_string(),
        json!({"choices": [{"message": "a secret"}]}).to_string(),
        format!("{}\"a secret\"{}", "[".repeat(500), "]".repeat(500)),
        r#"{"a secret": 1e999}"#.to_owned(),
    ] {
        let server = server([Act::Body(body)]).await;
        let client = quick(&server).attempts(1).build().unwrap();
        let error = client.complete(&prompt()).await.unwrap_err();
        assert!(matches!(error, Error::Malformed(_)), "{error}");
    }
    tracing::error!("this is logged");
    let logged = log.0.lock().unwrap().join("\n");
    assert!(logged.contains("this is logged"), "{logged}");
    assert!(!logged.contains("a secret"), "{logged}");
}

/// A log of this thread.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl tracing::Subscriber for Log {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        self.0.lock().unwrap().push(format!("{event:?}"));
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}
