//! The client against a real HTTP server and its failures.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod calls;
mod dialect;
mod judge;
mod secrets;
mod structured;

use std::time::Duration;

use reflect_model_server::{Act, ModelServer};
use reflect_models::{Builder, Client, Prompt};

fn say(text: &str) -> Act {
    Act::Say(text.to_owned())
}

async fn server(acts: impl IntoIterator<Item = Act>) -> ModelServer {
    let server = ModelServer::start(|_| Act::Say("hello".to_owned())).await;
    let server = server.unwrap();
    server.first(acts);
    server
}

/// A client with short waits between attempts.
fn quick(server: &ModelServer) -> Builder {
    Client::builder("test-model")
        .base_url(server.url())
        .backoff(Duration::from_millis(1), Duration::from_secs(1))
}

fn prompt() -> Prompt {
    Prompt::new("Be brief.", "Hello?")
}
