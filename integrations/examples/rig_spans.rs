//! An agent of `rig` that learns. Its spans are the trajectory: no message is written by hand.
//!
//!     (cd integrations && cargo run --example rig_spans)

use reflect_framework_examples::{MODEL, Provider, review};
use reflect_sdk::{BoxError, ReflectClient, ReflectLayer, TraceContext, reflect_trace};
use rig_agent::prelude::*;
use rig_core::providers::openai::{OpenAI, OpenAIConfig};
use tracing_subscriber::prelude::*;

struct Desk {
    reflect: ReflectClient,
    openai: OpenAI,
}

impl Desk {
    #[reflect_trace(client = self.reflect, task = question, until_learned)]
    async fn answer(&self, ctx: &TraceContext, question: &str) -> Result<String, BoxError> {
        let agent = AgentBuilder::new(self.openai.chat(MODEL))
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
    let provider = Provider::from_env().await?;
    let config = OpenAIConfig::new(&provider.key).with_base_url(&provider.url);
    let desk = Desk {
        reflect: ReflectClient::builder().embedded(folder.path().join("reflect.db"))?,
        openai: config.client(),
    };

    println!("{}", desk.answer("May order 7 be refunded?").await?);
    review(&desk.reflect).await?;
    println!("{}", desk.answer("May order 12 be refunded?").await?);
    Ok(())
}
