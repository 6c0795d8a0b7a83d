use std::time::Duration;

use reflect_http::{SecretString, Url};

use crate::retry::Retry;

/// The default base URL.
pub const OPENAI: &str = "https://api.openai.com/v1";

/// The settings of a client, not checked yet.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) model: String,
    /// [`OPENAI`] unless set.
    pub(crate) base_url: Option<String>,
    pub(crate) api_key: Option<SecretString>,
    pub(crate) timeout: Duration,
    pub(crate) retry: Retry,
    pub(crate) concurrency: usize,
    pub(crate) max_prompt_tokens: usize,
    pub(crate) max_completion_tokens: u32,
}

impl Settings {
    pub(crate) fn new(model: String) -> Self {
        Self {
            model,
            base_url: None,
            api_key: None,
            timeout: Duration::from_secs(60),
            retry: Retry::default(),
            concurrency: 8,
            max_prompt_tokens: 16_000,
            max_completion_tokens: 2_000,
        }
    }

    pub(crate) fn base_url(&self) -> &str {
        self.base_url.as_deref().unwrap_or(OPENAI)
    }

    pub(crate) fn is_openai(&self) -> bool {
        self.is_at(OPENAI)
    }

    /// Whether the model is served by the same origin as this address.
    pub(crate) fn is_at(&self, address: &str) -> bool {
        let origin = |url: &str| Some(Url::parse(url).ok()?.origin().ascii_serialization());
        origin(address).is_some_and(|other| Some(other) == origin(self.base_url()))
    }
}
