use std::fmt;
use std::time::Duration;

use reflect_http::{ExposeSecret, SecretString};

use crate::client::Client;
use crate::environment::{self, Purpose};
use crate::error::Result;
use crate::settings::Settings;

/// Configures a [`Client`].
#[derive(Clone)]
#[must_use]
pub struct Builder(Settings);

impl Client {
    /// A builder for a client of this model.
    pub fn builder(model: impl Into<String>) -> Builder {
        Builder(Settings::new(model.into()))
    }

    /// The client configured by the environment; `None` if it names neither a model nor an address.
    /// A key alone configures nothing: runs are sent only where the user asks for it.
    pub fn from_env(purpose: Purpose) -> Result<Option<Self>> {
        environment::settings(purpose)?.map(Self::new).transpose()
    }
}

impl Builder {
    /// Sets the address of the server, up to and including the version: [`OPENAI`](crate::OPENAI) by
    /// default, for example `http://localhost:11434/v1` for Ollama, `http://localhost:8000/v1` for
    /// vLLM and `https://api.anthropic.com/v1` for Anthropic.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.0.base_url = Some(url.into());
        self
    }

    /// Sets the key, for servers that require one. A blank key is none.
    pub fn api_key(mut self, key: impl Into<SecretString>) -> Self {
        let key = key.into();
        let blank = key.expose_secret().trim().is_empty();
        self.0.api_key = (!blank).then_some(key);
        self
    }

    /// Limits the time for one answer; 60 s by default.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.0.timeout = timeout;
        self
    }

    /// Sets the number of attempts in all; 3 by default, at least 1.
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.0.retry.attempts = attempts.max(1);
        self
    }

    /// Sets the bound of the first wait between attempts, which doubles each time, and the longest
    /// wait: a server that asks for more with `Retry-After` ends the call.
    pub fn backoff(mut self, first: Duration, longest: Duration) -> Self {
        let backoff = &mut self.0.retry.backoff;
        (backoff.initial, backoff.cap) = (first, longest);
        self
    }

    /// Limits concurrent requests; 8 by default.
    pub fn concurrency(mut self, requests: usize) -> Self {
        self.0.concurrency = requests.max(1);
        self
    }

    /// Limits the tokens of a run in a prompt; 16,000 by default.
    pub fn max_prompt_tokens(mut self, tokens: usize) -> Self {
        self.0.max_prompt_tokens = tokens.max(256);
        self
    }

    /// Limits the tokens of an answer, thoughts included; 2,000 by default.
    pub fn max_completion_tokens(mut self, tokens: u32) -> Self {
        self.0.max_completion_tokens = tokens.max(16);
        self
    }

    /// Fills in what is not set from `OPENAI_BASE_URL` and `OPENAI_API_KEY`. The key goes to OpenAI or
    /// to `OPENAI_BASE_URL` only.
    pub fn or_openai(mut self) -> Self {
        environment::fill_in_openai(&mut self.0);
        self
    }

    /// Checks the settings. Nothing is sent.
    pub fn build(self) -> Result<Client> {
        Client::new(self.0)
    }
}

// Without the key, and without the address, which is not checked yet and may hold a password.
impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("model", &self.0.model)
            .field("timeout", &self.0.timeout)
            .field("attempts", &self.0.retry.attempts)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_cannot_work_are_refused_and_show_no_secret() {
        for url in ["", "localhost:1/v1", "ftp://x", "nonsense"] {
            let error = Client::builder("m").base_url(url).build().unwrap_err();
            let error = error.to_string();
            assert!(error.contains("not a model address"), "{error}");
        }
        for url in [
            "http://me:hush@x/v1",
            "http://me:hush@x:99999/v1",
            "me:hush@x",
            "http://x/v1?key=hush",
            "http://x:99999/v1#hush",
        ] {
            let builder = Client::builder("m").base_url(url);
            assert!(!format!("{builder:?}").contains("hush"), "{builder:?}");
            let error = builder.build().unwrap_err().to_string();
            assert!(!error.contains("hush"), "{error}");
        }
        let builder = Client::builder("m").api_key("hu\nsh");
        assert!(!format!("{builder:?}").contains("hu\\nsh"), "{builder:?}");
        let error = builder.build().unwrap_err().to_string();
        assert!(error.contains("line break") && !error.contains("hu\nsh"));
    }

    #[test]
    fn openai_requires_a_key_that_is_not_blank() {
        let error = Client::builder("m").api_key(" \n").build().unwrap_err();
        assert!(error.to_string().contains("OPENAI_API_KEY"), "{error}");
    }

    #[test]
    fn a_client_shows_no_secret() {
        let client = Client::builder("m").api_key("hush").build().unwrap();
        assert!(!format!("{client:?}").contains("hush"));
    }
}
