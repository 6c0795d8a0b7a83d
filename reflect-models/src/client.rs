use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reflect_http::{AddressError, BuildError, Url};
use tokio::sync::Semaphore;
use tokio::time::sleep;

use crate::dialect::{Dialect, Parameters};
use crate::error::{Error, Result};
use crate::settings::{OPENAI, Settings};
use crate::usage::{Counters, Usage};

/// A client of one model that speaks the OpenAI protocol, for chat or embeddings. Cheap to clone;
/// clones share limits and counters.
///
/// ```no_run
/// use reflect_models::{Client, Prompt};
///
/// # async fn ask() -> Result<(), reflect_models::Error> {
/// let client = Client::builder("llama3.2")
///     .base_url("http://localhost:11434/v1")
///     .build()?;
/// let reply = client.complete(&Prompt::new("Be brief.", "What is a trace?")).await?;
/// println!("{reply}\n{}", client.usage());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) http: reflect_http::Client,
    pub(crate) settings: Settings,
    pub(crate) counters: Counters,
    pub(crate) dialect: Dialect,
    permits: Semaphore,
}

impl Client {
    pub(crate) fn new(settings: Settings) -> Result<Self> {
        if settings.model.trim().is_empty() {
            return Err(Error::Config(
                "the model has no name: give the one that its server knows".to_owned(),
            ));
        }
        if settings.is_openai() && settings.api_key.is_none() {
            return Err(Error::Config(
                "OpenAI requires a key: set OPENAI_API_KEY, or name another base URL".to_owned(),
            ));
        }
        Ok(Self {
            shared: Arc::new(Shared {
                http: http_client(&settings)?,
                counters: Counters::default(),
                dialect: Dialect::new(Parameters {
                    // The only name that OpenAI's newer models accept.
                    max_completion_tokens: settings.is_openai(),
                    ..Parameters::default()
                }),
                permits: Semaphore::new(settings.concurrency.min(Semaphore::MAX_PERMITS)),
                settings,
            }),
        })
    }

    /// The model's name.
    pub fn model(&self) -> &str {
        &self.shared.settings.model
    }

    /// The address of its server.
    pub fn base_url(&self) -> &str {
        self.shared.http.base_url()
    }

    /// The host and port of its server.
    pub fn host_and_port(&self) -> String {
        let parsed = Url::parse(self.base_url()).ok();
        let found = parsed.as_ref().and_then(|url| {
            let port = url.port_or_known_default()?;
            Some(format!("{}:{port}", url.host_str()?))
        });
        found.unwrap_or_else(|| self.base_url().to_owned())
    }

    /// The limit of tokens for a run in a prompt.
    pub fn max_prompt_tokens(&self) -> usize {
        self.shared.settings.max_prompt_tokens
    }

    /// The requests and tokens so far.
    pub fn usage(&self) -> Usage {
        self.shared.counters.usage()
    }

    /// Calls until it succeeds or its error is not retried.
    pub(crate) async fn with_retries<T, F>(&self, mut call: impl FnMut() -> F) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        let mut retries = 0;
        loop {
            let result = {
                // The semaphore is never closed, so this always yields a permit.
                let _permit = self.shared.permits.acquire().await;
                call().await
            };
            let error = match result {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            let Some(wait) = self.shared.settings.retry.wait(&error, retries) else {
                return Err(error);
            };
            retries += 1;
            tracing::debug!(model = self.model(), %error, retries, ?wait, "retrying");
            sleep(wait).await;
        }
    }
}

impl Shared {
    /// Counts one request and its failure.
    pub(crate) async fn counted<T>(&self, request: impl Future<Output = Result<T>>) -> Result<T> {
        self.counters.called();
        let result = request.await;
        if result.is_err() {
            self.counters.failed();
        }
        result
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("model", &self.model())
            .field("base_url", &self.base_url())
            .field("usage", &self.usage())
            .finish_non_exhaustive()
    }
}

fn http_client(settings: &Settings) -> Result<reflect_http::Client> {
    let mut http = reflect_http::Client::builder(settings.base_url())
        .user_agent(concat!("reflect-models-rust/", env!("CARGO_PKG_VERSION")))
        .timeout(settings.timeout)
        .connect_timeout(settings.timeout.min(Duration::from_secs(10)));
    if let Some(key) = settings.api_key.clone() {
        http = http.bearer(key);
    }
    http.build().map_err(|error| {
        Error::Config(match error {
            BuildError::Address(AddressError::Credentials | AddressError::QueryOrFragment) => {
                "the address of the model holds a user, a password or a query (`@`, `?`, `#`): give \
                 the address alone, and the secret as the key"
                    .to_owned()
            }
            // The others hold no secret, so the address may be shown.
            BuildError::Address(problem) => format!(
                "`{}` is not a model address: it {problem}. Use one such as {OPENAI}",
                settings.base_url()
            ),
            BuildError::UnprintableKey => {
                "the model's key has characters that no header can carry: check for line breaks"
                    .to_owned()
            }
            other => other.to_string(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_wait_that_the_server_asks_for_is_kept() {
        let mut settings = Settings::new("m".to_owned());
        settings.api_key = Some("k".into());
        let client = Client::new(settings).unwrap();
        let (start, mut calls) = (tokio::time::Instant::now(), 0);
        let answer = client.with_retries(|| {
            calls += 1;
            let result = if calls < 3 {
                Err(Error::Refused {
                    status: 429,
                    message: "slow down".to_owned(),
                    retry_after: Some(Duration::from_secs(7)),
                })
            } else {
                Ok(calls)
            };
            std::future::ready(result)
        });
        assert_eq!(answer.await.unwrap(), 3);
        let waited = start.elapsed();
        // The clock of the runtime counts in whole milliseconds.
        assert!(waited >= Duration::from_secs(14), "{waited:?}");
        assert!(waited < Duration::from_millis(14_010), "{waited:?}");
    }
}
