//! What a client is told: by a builder, or by the environment.

use std::fmt;
use std::time::Duration;

use reqwest::Url;
use secrecy::{ExposeSecret, SecretString};

use crate::client::Client;
use crate::error::{Error, Result};

/// The address that is asked when nothing else is said.
pub const OPENAI: &str = "https://api.openai.com/v1";

/// What a model is for, which decides the variables that configure it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Purpose {
    /// Writing and judging: `REFLECT_LLM_BASE_URL`, `REFLECT_LLM_MODEL`, `REFLECT_LLM_API_KEY`.
    Chat,
    /// Vectors: `REFLECT_EMBEDDINGS_BASE_URL`, `REFLECT_EMBEDDINGS_MODEL`,
    /// `REFLECT_EMBEDDINGS_API_KEY`.
    Embeddings,
}

impl Purpose {
    fn prefix(self) -> &'static str {
        match self {
            Self::Chat => "REFLECT_LLM",
            Self::Embeddings => "REFLECT_EMBEDDINGS",
        }
    }
}

/// Sets up a [`Client`].
#[derive(Clone)]
#[must_use]
pub struct Builder {
    pub(crate) model: String,
    pub(crate) base_url: Option<String>,
    pub(crate) api_key: Option<SecretString>,
    pub(crate) timeout: Duration,
    pub(crate) attempts: u32,
    pub(crate) backoff: Duration,
    pub(crate) longest_wait: Duration,
    pub(crate) concurrency: usize,
    pub(crate) max_prompt_tokens: usize,
    pub(crate) max_completion_tokens: u32,
}

impl Builder {
    pub(crate) fn new(model: String) -> Self {
        Self {
            model,
            base_url: None,
            api_key: None,
            timeout: Duration::from_secs(60),
            attempts: 3,
            backoff: Duration::from_millis(500),
            longest_wait: Duration::from_secs(30),
            concurrency: 8,
            max_prompt_tokens: 16_000,
            max_completion_tokens: 2_000,
        }
    }

    /// Where the model is served, up to and with the version: [`OPENAI`] unless set, for example
    /// `http://localhost:11434/v1` for Ollama, `http://localhost:8000/v1` for vLLM and
    /// `https://api.anthropic.com/v1` for Anthropic.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// The key, for servers that want one.
    pub fn api_key(mut self, key: impl Into<SecretString>) -> Self {
        self.api_key = Some(key.into());
        self
    }

    /// How long one answer may take; 60 s unless set.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// How often a call is tried in all; 3 unless set, and 0 counts as 1.
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts.max(1);
        self
    }

    /// The bound of the first wait between tries, which doubles each time, and the longest wait that
    /// is borne: a server that asks for more with `Retry-After` is not asked again in this call.
    pub fn backoff(mut self, first: Duration, longest: Duration) -> Self {
        (self.backoff, self.longest_wait) = (first, longest);
        self
    }

    /// How many requests are under way at once; 8 unless set.
    pub fn concurrency(mut self, requests: usize) -> Self {
        self.concurrency = requests.max(1);
        self
    }

    /// How many tokens of a run are shown to the model; 16,000 unless set.
    pub fn max_prompt_tokens(mut self, tokens: usize) -> Self {
        self.max_prompt_tokens = tokens.max(256);
        self
    }

    /// How many tokens an answer may have, thoughts included; 2,000 unless set.
    pub fn max_completion_tokens(mut self, tokens: u32) -> Self {
        self.max_completion_tokens = tokens.max(16);
        self
    }

    /// Fills in what is not set from the environment: `OPENAI_API_KEY` goes only where
    /// `OPENAI_BASE_URL` points, or to OpenAI, so that no other server gets to see it.
    pub fn or_openai(self) -> Self {
        self.or_openai_from(variable)
    }

    /// OpenAI's newer models know only the newer name of the token limit, other servers only the
    /// older one.
    pub(crate) fn is_openai(&self) -> bool {
        let url = self.base_url.as_deref();
        url.is_none_or(|url| origin(url) == origin(OPENAI))
    }

    /// Checks the settings; nothing is sent yet.
    pub fn build(self) -> Result<Client> {
        Client::new(self)
    }

    fn or_openai_from(mut self, get: impl Fn(&str) -> Option<String>) -> Self {
        let known = get("OPENAI_BASE_URL");
        if self.base_url.is_none() {
            self.base_url.clone_from(&known);
        }
        if self.api_key.is_none() {
            let target = self.base_url.as_deref().unwrap_or(OPENAI);
            let theirs = |known: &str| origin(known).is_some_and(|o| Some(o) == origin(target));
            if theirs(OPENAI) || known.as_deref().is_some_and(theirs) {
                self.api_key = get("OPENAI_API_KEY").map(SecretString::from);
            }
        }
        self
    }
}

// Without the key, and without the address, of which nobody has made sure that it holds none.
impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("model", &self.model)
            .field("timeout", &self.timeout)
            .field("attempts", &self.attempts)
            .finish_non_exhaustive()
    }
}

/// The client that the environment describes; `None` where it names neither a model nor an address.
pub(crate) fn from_env(purpose: Purpose) -> Result<Option<Builder>> {
    from_variables(purpose, variable)
}

fn from_variables(
    purpose: Purpose,
    get: impl Fn(&str) -> Option<String>,
) -> Result<Option<Builder>> {
    let prefix = purpose.prefix();
    let own = |name: &str| get(&format!("{prefix}_{name}"));
    let (model, url) = (own("MODEL"), own("BASE_URL"));
    let Some(model) = model else {
        return match url {
            None => Ok(None),
            Some(_) => Err(Error::Config(format!(
                "{prefix}_BASE_URL is set, but no model: name one with {prefix}_MODEL"
            ))),
        };
    };
    let mut builder = Builder::new(model);
    builder.base_url = url;
    builder.api_key = own("API_KEY").map(SecretString::from);
    Ok(Some(builder.or_openai_from(get)))
}

fn variable(name: &str) -> Option<String> {
    let value = std::env::var(name).ok()?;
    let value = value.trim();
    (!value.is_empty()).then(|| value.to_owned())
}

fn origin(url: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    Some(url.origin().ascii_serialization())
}

/// The host and the port of an address that was checked.
pub(crate) fn host_and_port(url: &str) -> String {
    let parsed = Url::parse(url).ok();
    let found = parsed.as_ref().and_then(|url| {
        let port = url.port_or_known_default()?;
        Some(format!("{}:{port}", url.host_str()?))
    });
    found.unwrap_or_else(|| url.to_owned())
}

/// The address without a slash at its end.
pub(crate) fn checked_url(url: &str) -> Result<String> {
    let problem = |problem: &str| {
        Error::Config(format!(
            "`{url}` is no address of a model: {problem}. Use one such as {OPENAI}"
        ))
    };
    // Not shown, and looked for before anything is: both may hold a secret.
    if url.contains(['@', '?', '#']) {
        return Err(Error::Config(
            "the address of the model holds a user, a password or a query (`@`, `?`, `#`): give \
             the address alone, and the secret as the key"
                .to_owned(),
        ));
    }
    let parsed = Url::parse(url).map_err(|error| problem(&error.to_string()))?;
    if !matches!(parsed.scheme(), "http" | "https") {
        return Err(problem("it must begin with http:// or https://"));
    }
    Ok(url.trim_end_matches('/').to_owned())
}

/// The key as a header that no log shows.
pub(crate) fn bearer(key: &SecretString) -> Result<http::HeaderValue> {
    let text = format!("Bearer {}", key.expose_secret().trim());
    let mut header = http::HeaderValue::from_str(&text).map_err(|_| {
        Error::Config(
            "the model's key has characters that no header can carry: check for line breaks"
                .to_owned(),
        )
    })?;
    header.set_sensitive(true);
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(purpose: Purpose, variables: &[(&str, &str)]) -> Result<Option<Builder>> {
        from_variables(purpose, |name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    fn key(builder: &Builder) -> Option<&str> {
        builder.api_key.as_ref().map(ExposeSecret::expose_secret)
    }

    #[test]
    fn a_key_alone_sends_nothing_anywhere() {
        assert!(
            read(Purpose::Chat, &[("OPENAI_API_KEY", "sk")])
                .unwrap()
                .is_none()
        );
    }

    #[test]
    fn an_address_without_a_model_says_what_is_missing() {
        let error = read(
            Purpose::Embeddings,
            &[("REFLECT_EMBEDDINGS_BASE_URL", "http://x/v1")],
        );
        let error = error.unwrap_err().to_string();
        assert!(error.contains("REFLECT_EMBEDDINGS_MODEL"), "{error}");
    }

    #[test]
    fn openai_s_key_goes_to_openai_only() {
        let openai = ("OPENAI_API_KEY", "sk");
        let model = ("REFLECT_LLM_MODEL", "m");
        let plain = read(Purpose::Chat, &[openai, model]).unwrap().unwrap();
        assert_eq!(key(&plain), Some("sk"));

        let elsewhere = ("REFLECT_LLM_BASE_URL", "http://localhost:11434/v1");
        let other = read(Purpose::Chat, &[openai, model, elsewhere])
            .unwrap()
            .unwrap();
        assert_eq!(key(&other), None);

        let known = ("OPENAI_BASE_URL", "http://localhost:11434/v1/");
        let same = read(Purpose::Chat, &[openai, model, elsewhere, known])
            .unwrap()
            .unwrap();
        assert_eq!(key(&same), Some("sk"));

        let own = ("REFLECT_LLM_API_KEY", "mine");
        let own = read(Purpose::Chat, &[openai, model, own]).unwrap().unwrap();
        assert_eq!(key(&own), Some("mine"));
    }

    #[test]
    fn settings_that_cannot_work_are_refused_and_show_no_secret() {
        for url in ["", "localhost:1/v1", "ftp://x", "nonsense"] {
            let error = checked_url(url).unwrap_err().to_string();
            assert!(error.contains("no address of a model"), "{error}");
        }
        for url in [
            "http://me:hush@x/v1",
            "http://me:hush@x:99999/v1",
            "me:hush@x",
            "http://x/v1?key=hush",
            "http://x:99999/v1#hush",
        ] {
            let error = checked_url(url).unwrap_err().to_string();
            assert!(!error.contains("hush"), "{error}");
            let shown = format!("{:?}", Builder::new("m".into()).base_url(url));
            assert!(!shown.contains("hush"), "{shown}");
        }
        let error = bearer(&SecretString::from("hu\nsh")).unwrap_err();
        assert!(!error.to_string().contains("hu\nsh"), "{error}");
        let shown = format!("{:?}", Builder::new("m".into()).api_key("hush"));
        assert!(!shown.contains("hush"), "{shown}");
    }
}
