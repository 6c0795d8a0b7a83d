//! An agent of `rig` that learns. Its spans are the trajectory: no message is written by hand.
//!
//!     (cd examples/frameworks && cargo run --example rig)
//!
//! It runs offline with a scripted model behind a real HTTP server; with `OPENAI_API_KEY` set it asks OpenAI.

use std::env;

use reflect_models::scripted::{Act, ModelRequest, ModelServer};
use reflect_sdk::{BoxError, ReflectClient, ReflectLayer, Review, TraceContext, reflect_trace};
use rig_agent::prelude::*;
use rig_core::providers::openai::{OpenAI, OpenAIConfig};
use tracing_subscriber::prelude::*;

struct Desk {
    reflect: ReflectClient,
    openai: OpenAI,
}

impl Desk {
    #[reflect_trace(client = self.reflect, task = question, blocking)]
    async fn answer(&self, ctx: &TraceContext, question: &str) -> Result<String, BoxError> {
        let agent = AgentBuilder::new(self.openai.chat("gpt-5.4-mini"))
            .preamble("Answer in one sentence.")
            // What is said is traced only where it is allowed.
            .record_content_telemetry(true)
            .build();
        Ok(agent.prompt(ctx.augmented_task()).await?.to_string())
    }
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    tracing_subscriber::registry()
        .with(ReflectLayer::new())
        .init();
    let folder = tempfile::tempdir()?;
    let offline = ModelServer::start(scripted).await?;
    let config = match env::var("OPENAI_API_KEY") {
        Ok(key) if !key.is_empty() => OpenAIConfig::from_env()?,
        _ => OpenAIConfig::new("offline").with_base_url(offline.url()),
    };
    let desk = Desk {
        reflect: ReflectClient::builder().embedded(folder.path().join("reflect.db"))?,
        openai: config.client(),
    };

    println!("{}", desk.answer("May order 7 be refunded?").await?);
    let trace = desk.reflect.list_traces().await?.items.remove(0);
    for message in &trace.trajectory {
        let role = message.role.as_ref().map_or("", |role| role.as_str());
        println!("  {role}: {}", message.text());
    }
    let review = Review::fail("Only orders of at most 30 days may be refunded: ask for the date");
    desk.reflect.review_trace(&trace.id, review).await?;
    println!("{}", desk.answer("May order 12 be refunded?").await?);
    Ok(())
}

/// A model that knows only what it is told.
fn scripted(request: &ModelRequest) -> Act {
    if request.text().contains("30 days") {
        return Act::Say("When was it bought?".to_owned());
    }
    Act::Say("Yes, gladly.".to_owned())
}
