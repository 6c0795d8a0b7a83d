//! An agent of `rig` that learns by a hook: the code that asks the agent knows nothing of Reflect.
//!
//!     (cd integrations && cargo run --example rig)

use std::time::Duration;

use reflect_framework_examples::{MODEL, Provider, review};
use reflect_rig::Learning;
use reflect_sdk::{BoxError, ReflectClient};
use rig_agent::prelude::*;
use rig_core::providers::openai::OpenAIConfig;

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let folder = tempfile::tempdir()?;
    let reflect = ReflectClient::builder().embedded(folder.path().join("reflect.db"))?;
    let provider = Provider::from_env().await?;
    let config = OpenAIConfig::new(&provider.key).with_base_url(&provider.url);
    let agent = AgentBuilder::new(config.client().chat(MODEL))
        .preamble("Answer in one sentence.")
        .add_hook(Learning::new(&reflect))
        .build();

    println!("{}", agent.prompt("May order 7 be refunded?").await?);
    reflect.flush(Duration::from_secs(10)).await;
    review(&reflect).await?;
    println!("{}", agent.prompt("May order 12 be refunded?").await?);
    Ok(())
}
