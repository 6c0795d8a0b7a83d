//! An agent of `genai` that learns.
//!
//!     (cd integrations && cargo run --example genai)

use std::time::Duration;

use genai::adapter::AdapterKind;
use genai::chat::ChatRequest;
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, ModelIden, ServiceTarget};
use reflect_framework_examples::{MODEL, Provider, review};
use reflect_genai::Run;
use reflect_sdk::{BoxError, ReflectClient};

struct Desk {
    reflect: ReflectClient,
    genai: Client,
    model: ServiceTarget,
}

impl Desk {
    async fn answer(&self, question: &str) -> Result<String, BoxError> {
        let request = ChatRequest::from_user(question);
        let mut run = Run::start(&self.reflect, request).await;
        let reply = run.exec_chat(&self.genai, self.model.clone(), None).await?;
        Ok(reply.first_text().unwrap_or_default().to_owned())
    }
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
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
    desk.reflect.flush(Duration::from_secs(10)).await;
    review(&desk.reflect).await?;
    println!("{}", desk.answer("May order 12 be refunded?").await?);
    Ok(())
}
