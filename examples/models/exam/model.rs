//! The model that sits the exam.

use std::env;

use async_openai::Client;
use async_openai::config::OpenAIConfig;
use reflect_sdk::BoxError;
use serde_json::{Value, json};

pub(crate) struct Model {
    client: Client<OpenAIConfig>,
    name: String,
}

impl Model {
    /// The model of `OPENAI_BASE_URL`, `OPENAI_API_KEY` and `OPENAI_MODEL`; `None` without the first two.
    pub(crate) fn from_environment() -> Option<Self> {
        let variable = |name| env::var(name).ok().filter(|value| !value.is_empty());
        let (url, key) = (variable("OPENAI_BASE_URL"), variable("OPENAI_API_KEY"));
        if url.is_none() && key.is_none() {
            return None;
        }
        let mut config = OpenAIConfig::new().with_api_key(key.unwrap_or_else(|| "none".to_owned()));
        if let Some(url) = url {
            config = config.with_api_base(url);
        }
        Some(Self {
            client: Client::with_config(config),
            name: variable("OPENAI_MODEL").unwrap_or_else(|| "default".to_owned()),
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The topic that the model answers: at temperature 0, and held to these topics by a schema.
    pub(crate) async fn topic_of(
        &self,
        prompt: &str,
        topics: &[String],
    ) -> Result<String, BoxError> {
        let rules = format!(
            "Name the topic of the customer's message. The topics are: {}.",
            topics.join(", ")
        );
        let schema = json!({
            "type": "object",
            "properties": {"topic": {"type": "string", "enum": topics}},
            "required": ["topic"],
            "additionalProperties": false,
        });
        let request = json!({
            "model": self.name,
            "temperature": 0,
            "messages": [
                {"role": "system", "content": rules},
                {"role": "user", "content": prompt},
            ],
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "answer", "strict": true, "schema": schema},
            },
        });
        let reply: Value = self.client.chat().create_byot(request).await?;
        let answer = reply["choices"][0]["message"]["content"].as_str();
        let answer: Value = serde_json::from_str(answer.ok_or("the model answered nothing")?)?;
        let topic = answer["topic"]
            .as_str()
            .ok_or("the answer names no topic")?;
        Ok(topic.to_owned())
    }
}
