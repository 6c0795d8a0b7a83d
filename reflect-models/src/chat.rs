use secrecy::ExposeSecret;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::client::{Client, Shared};
use crate::dialect::Words;
use crate::error::{Error, Result, blot, excerpt};
use crate::prompt::{Prompt, Said};

impl Client {
    /// The model's answer to a prompt: its text, which is never blank.
    pub async fn complete(&self, prompt: &Prompt) -> Result<String> {
        self.with_retries(|| self.ask(prompt)).await
    }

    async fn ask(&self, prompt: &Prompt) -> Result<String> {
        let shared = &*self.shared;
        let mut words = shared.dialect.words();
        let mut tried = Vec::new();
        loop {
            let outcome = shared.counted(shared.chat(prompt, words)).await;
            tried.push(words);
            let learned = outcome.as_ref().err();
            match learned.and_then(|error| shared.dialect.learn(words, error)) {
                // A server that wants none of them is told so by its own error.
                Some(other) if !tried.contains(&other) => words = other,
                _ => return outcome,
            }
        }
    }
}

impl Shared {
    async fn chat(&self, prompt: &Prompt, words: Words) -> Result<String> {
        let request = self.request(prompt, words);
        let reply: Value = self.protocol.chat().create_byot(request).await?;
        let reply: Reply = self.read(reply)?;
        if let Some(usage) = &reply.usage {
            self.counters
                .spent(usage.prompt_tokens, usage.completion_tokens);
        }
        if let Some(error) = reply.error.as_ref().filter(|error| !error.is_null()) {
            return Err(Error::Malformed(excerpt(&self.blot(&error.to_string()))));
        }
        reply.text(self.settings.max_completion_tokens)
    }

    /// What the library has made sure of is JSON, as our own type: the library would write all that
    /// it cannot read into the log.
    pub(crate) fn read<T: DeserializeOwned>(&self, reply: Value) -> Result<T> {
        serde_json::from_value(reply)
            .map_err(|error| Error::Malformed(excerpt(&self.blot(&error.to_string()))))
    }

    fn blot(&self, text: &str) -> String {
        let key = self.settings.api_key.as_ref();
        blot(text, key.map(ExposeSecret::expose_secret))
    }

    fn request<'a>(&'a self, prompt: &'a Prompt, words: Words) -> Request<'a> {
        let limit = self.settings.max_completion_tokens;
        let newer = words.newer_limit;
        let format = prompt.json && !words.no_format;
        Request {
            model: &self.settings.model,
            messages: &prompt.messages,
            max_completion_tokens: newer.then_some(limit),
            max_tokens: (!newer).then_some(limit),
            response_format: format.then(|| json!({"type": "json_object"})),
        }
    }
}

/// Our own rather than the library's, which has only the newer of the two limits.
#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    messages: &'a [Said],
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<Value>,
}

/// Only what is needed, so that a server that leaves out the rest is understood too.
#[derive(Deserialize)]
struct Reply {
    #[serde(default)]
    choices: Vec<Choice>,
    #[serde(default)]
    usage: Option<Tokens>,
    /// Some servers answer an error with 200.
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

#[derive(Deserialize)]
pub(crate) struct Tokens {
    #[serde(default)]
    pub(crate) prompt_tokens: u64,
    #[serde(default)]
    pub(crate) completion_tokens: u64,
}

impl Reply {
    fn text(self, limit: u32) -> Result<String> {
        let Some(choice) = self.choices.into_iter().next() else {
            return Err(Error::Malformed("it has no choices".to_owned()));
        };
        if let Some(refusal) = choice.message.refusal.filter(|text| !text.is_empty()) {
            return Err(Error::Declined(excerpt(&refusal)));
        }
        let text = choice.message.content.map(text_of).unwrap_or_default();
        match choice.finish_reason.as_deref() {
            Some("content_filter") => Err(Error::Declined(
                "a content filter took the answer away".to_owned(),
            )),
            Some("length") => Err(Error::CutOff { limit }),
            _ if text.trim().is_empty() => Err(Error::Empty),
            _ => Ok(text),
        }
    }
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
