use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::client::{Client, Shared};
use crate::dialect::{Format, Parameters};
use crate::error::{Error, Result};
use crate::prompt::{ChatMessage, Prompt};
use crate::usage::Tokens;

impl Client {
    /// The model's answer to a prompt. It is never blank.
    pub async fn complete(&self, prompt: &Prompt) -> Result<String> {
        self.with_retries(|| self.shared.complete(prompt)).await
    }
}

impl Shared {
    /// Asks with every combination of parameters that the server's refusals suggest.
    async fn complete(&self, prompt: &Prompt) -> Result<String> {
        let mut parameters = self.dialect.parameters();
        let mut tried = Vec::new();
        loop {
            let result = self.counted(self.chat(prompt, parameters)).await;
            tried.push(parameters);
            let error = result.as_ref().err();
            match error.and_then(|error| {
                self.dialect
                    .learn(parameters, format(prompt, parameters), error)
            }) {
                Some(other) if !tried.contains(&other) => parameters = other,
                _ => return result,
            }
        }
    }

    async fn chat(&self, prompt: &Prompt, parameters: Parameters) -> Result<String> {
        let request = self.request(prompt, parameters);
        let reply: Reply = self.post("/chat/completions", &request).await?;
        if let Some(tokens) = &reply.usage {
            self.counters.spent(tokens);
        }
        if let Some(error) = reply.error.as_ref().filter(|error| !error.is_null()) {
            return Err(Error::Malformed(self.quote(&error.to_string())));
        }
        self.answer(reply)
    }

    fn request<'a>(&'a self, prompt: &'a Prompt, parameters: Parameters) -> Request<'a> {
        let limit = self.settings.max_completion_tokens;
        let newer = parameters.max_completion_tokens;
        Request {
            model: &self.settings.model,
            messages: prompt.messages(),
            max_completion_tokens: newer.then_some(limit),
            max_tokens: (!newer).then_some(limit),
            response_format: format(prompt, parameters).map(|format| match format {
                Format::Schema => json!({
                    "type": "json_schema",
                    "json_schema": {
                        "name": "answer", "strict": true, "schema": prompt.wanted_schema(),
                    },
                }),
                Format::Object => json!({"type": "json_object"}),
            }),
        }
    }

    fn answer(&self, reply: Reply) -> Result<String> {
        let Some(choice) = reply.choices.into_iter().next() else {
            return Err(Error::Malformed("it has no choices".to_owned()));
        };
        if let Some(refusal) = choice.message.refusal.filter(|text| !text.is_empty()) {
            return Err(Error::Declined(self.quote(&refusal)));
        }
        let text = choice.message.content.map(text_of).unwrap_or_default();
        match choice.finish_reason.as_deref() {
            Some("content_filter") => Err(Error::Declined(
                "a content filter removed the answer".to_owned(),
            )),
            Some("length") => Err(Error::CutOff {
                limit: self.settings.max_completion_tokens,
            }),
            _ if text.trim().is_empty() => Err(Error::Empty),
            _ => Ok(text),
        }
    }
}

/// The strictest format that the prompt has and the server has not refused.
fn format(prompt: &Prompt, parameters: Parameters) -> Option<Format> {
    if prompt.wanted_schema().is_some() && !parameters.no_schema {
        return Some(Format::Schema);
    }
    (prompt.is_json() && !parameters.no_object).then_some(Format::Object)
}

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    messages: &'a [ChatMessage],
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<Value>,
}

/// The fields that are needed; servers leave out others.
#[derive(Deserialize)]
struct Reply {
    #[serde(default)]
    choices: Vec<Choice>,
    #[serde(default)]
    usage: Option<Tokens>,
    /// Some servers report an error with status 200.
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    message: Answer,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Default, Deserialize)]
struct Answer {
    #[serde(default)]
    content: Option<Value>,
    #[serde(default)]
    refusal: Option<String>,
}

/// A text, or the texts of its parts.
fn text_of(content: Value) -> String {
    match content {
        Value::String(text) => text,
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}
