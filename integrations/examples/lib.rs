//! Agents of Rust frameworks that learn: `cargo run --example NAME`, offline.
//!
//! The model is scripted, behind a real HTTP server. With `OPENAI_API_KEY` set, it is OpenAI's.

use std::env;

use reflect_model_server::{Act, ModelRequest, ModelServer};
use reflect_sdk::{BoxError, ReflectClient, Review, Trace};

/// The model that the agents ask.
pub const MODEL: &str = "gpt-5.4-mini";

/// Where the model is.
pub struct Provider {
    /// The key, or none that is needed.
    pub key: String,
    /// The address, with `/v1`.
    pub url: String,
    _offline: Option<ModelServer>,
}

impl Provider {
    /// OpenAI with a key in the environment, else the scripted model.
    pub async fn from_env() -> Result<Self, BoxError> {
        if let Some(key) = env::var("OPENAI_API_KEY")
            .ok()
            .filter(|key| !key.is_empty())
        {
            let url = "https://api.openai.com/v1".to_owned();
            let _offline = None;
            return Ok(Self { key, url, _offline });
        }
        let server = ModelServer::start(scripted).await?;
        Ok(Self {
            key: "offline".to_owned(),
            url: server.url(),
            _offline: Some(server),
        })
    }
}

/// A scripted model that uses only its prompt.
fn scripted(request: &ModelRequest) -> Act {
    if request.text().contains("30 days") {
        return Act::Say("When was it bought?".to_owned());
    }
    Act::Say("Yes, gladly.".to_owned())
}

/// Shows the last run and reviews it, as a person does.
pub async fn review(reflect: &ReflectClient) -> Result<Trace, BoxError> {
    let trace = reflect.list_traces().await?.items.remove(0);
    for message in &trace.trajectory {
        let role = message.role.as_ref().map_or("", |role| role.as_str());
        println!("  {role}: {}", message.text());
    }
    let review = Review::fail("Only orders of at most 30 days may be refunded: ask for the date");
    Ok(reflect.review_trace(&trace.id, review).await?)
}
