//! An agent of `genai` that learns. Its spans are the trajectory: no message is written by hand.
//!
//!     cd integrations
//!     export OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true
//!     cargo run --example genai_spans

use genai::adapter::AdapterKind;
use genai::chat::ChatRequest;
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, ModelIden, ServiceTarget};
use reflect_framework_examples::{MODEL, Provider, review};
use reflect_sdk::{BoxError, ReflectClient, ReflectLayer, TraceContext, reflect_trace};
use tracing_subscriber::prelude::*;

struct Desk {
    reflect: ReflectClient,
    genai: Client,
    model: ServiceTarget,
}

impl Desk {
    #[reflect_trace(client = self.reflect, task = question, until_learned)]
    async fn answer(&self, ctx: &TraceContext, question: &str) -> Result<String, BoxError> {
        let request = ChatRequest::from_user(ctx.augmented_task());
        let model = self.model.clone();
        let reply = self.genai.exec_chat(model, request, None).await?;
        Ok(reply.first_text().unwrap_or_default().to_owned())
    }
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    tracing_subscriber::registry()
        .with(ReflectLayer::new())
        .init();
    let folder = tempfile::tempdir()?;
    let provider = Provider::from_env().await?;
    let desk = Desk {
        reflect: ReflectClient::builder().embedded(folder.path().join("reflect.db"))?,
        genai: Client::new()?,
        model: ServiceTarget {
            endpoint: Endpoint::from_owned(format!("{}/", provider.url)),
            auth: AuthData::from_single(provider.key.clone()),
            model: ModelIden::new(AdapterKind::OpenAI, MODEL),
        },
    };

    println!("{}", desk.answer("May order 7 be refunded?").await?);
    review(&desk.reflect).await?;
    println!("{}", desk.answer("May order 12 be refunded?").await?);
    Ok(())
}
