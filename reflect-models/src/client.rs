use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reqwest::redirect::Policy;
use tokio::sync::Semaphore;
use tokio::time::sleep;

use crate::config::{self, Builder, OPENAI, Purpose, bearer, checked_url};
use crate::dialect::{Dialect, Words};
use crate::error::{Error, Result};
use crate::usage::{Counters, Usage};
use crate::wire::{Place, Wire};

/// One model behind the OpenAI protocol, for chat or for embeddings. Clones share one client, its
/// limits and its counters.
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
    pub(crate) protocol: async_openai::Client<Place>,
    pub(crate) settings: Builder,
    pub(crate) counters: Counters,
    pub(crate) dialect: Dialect,
    places: Semaphore,
}

impl Client {
    /// A client of this model.
    pub fn builder(model: impl Into<String>) -> Builder {
        Builder::new(model.into())
    }

    /// The client that the environment describes; `None` where it names neither a model nor an
    /// address. A key alone starts nothing: what runs hold is sent only where it was asked to go.
    pub fn from_env(purpose: Purpose) -> Result<Option<Self>> {
        config::from_env(purpose)?.map(Builder::build).transpose()
    }

    pub(crate) fn new(settings: Builder) -> Result<Self> {
        if settings.model.trim().is_empty() {
            return Err(Error::Config(
                "the model has no name: give the one that its server knows".to_owned(),
            ));
        }
        if settings.is_openai() && settings.api_key.is_none() {
            return Err(Error::Config(
                "OpenAI wants a key: set OPENAI_API_KEY, or name another base URL".to_owned(),
            ));
        }
        let base_url = checked_url(settings.base_url.as_deref().unwrap_or(OPENAI))?;
        let http = reqwest::Client::builder()
            .timeout(settings.timeout)
            .connect_timeout(settings.timeout.min(Duration::from_secs(10)))
            // A key follows nobody to another place.
            .redirect(Policy::none())
            .build()
            .map_err(|error| Error::Config(format!("the HTTP client cannot start: {error}")))?;
        let place = Place {
            base_url,
            authorization: settings.api_key.as_ref().map(bearer).transpose()?,
            no_key: String::new().into(),
        };
        let wire = Wire {
            http: http.clone(),
            timeout: settings.timeout,
        };
        Ok(Self {
            shared: Arc::new(Shared {
                protocol: async_openai::Client::build(http, place).with_http_service(wire),
                counters: Counters::default(),
                dialect: Dialect::of(Words {
                    newer_limit: settings.is_openai(),
                    ..Words::default()
                }),
                places: Semaphore::new(settings.concurrency.min(Semaphore::MAX_PERMITS)),
                settings,
            }),
        })
    }

    /// The model's name.
    pub fn model(&self) -> &str {
        &self.shared.settings.model
    }

    /// Where it is served.
    pub fn base_url(&self) -> &str {
        let url = self.shared.settings.base_url.as_deref().unwrap_or(OPENAI);
        url.trim_end_matches('/')
    }

    /// The host and the port at which it is served.
    pub fn host_and_port(&self) -> String {
        config::host_and_port(self.base_url())
    }

    /// How many tokens of a run may be shown to it.
    pub fn max_prompt_tokens(&self) -> usize {
        self.shared.settings.max_prompt_tokens
    }

    /// What was asked of it so far.
    pub fn usage(&self) -> Usage {
        self.shared.counters.usage()
    }

    /// Calls until it works, the error is final, the attempts are used up, or the server asks for a
    /// longer wait than is borne.
    pub(crate) async fn with_retries<T, F>(&self, mut call: impl FnMut() -> F) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        let settings = &self.shared.settings;
        let mut retry = 0;
        loop {
            let outcome = {
                // The semaphore is never closed, so there is always a place in the end.
                let _place = self.shared.places.acquire().await;
                call().await
            };
            let error = match outcome {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            let Some(wait) = pause(settings, &error, retry) else {
                return Err(error);
            };
            retry += 1;
            tracing::debug!(model = self.model(), %error, retry, ?wait, "asking the model again");
            sleep(wait).await;
        }
    }
}

impl Shared {
    /// Counts one request, and whether it failed.
    pub(crate) async fn counted<T>(&self, request: impl Future<Output = Result<T>>) -> Result<T> {
        self.counters.called();
        let outcome = request.await;
        if outcome.is_err() {
            self.counters.failed();
        }
        outcome
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

/// How long to wait before the next try; `None` where there is none.
fn pause(settings: &Builder, error: &Error, retry: u32) -> Option<Duration> {
    if !error.is_retryable() || retry + 1 >= settings.attempts {
        return None;
    }
    if let Some(asked) = error.retry_after() {
        // Coming back earlier than asked would only make it worse.
        return (asked <= settings.longest_wait).then_some(asked);
    }
    let bound = settings
        .backoff
        .saturating_mul(2_u32.saturating_pow(retry))
        .min(settings.longest_wait);
    // Spread, so that many that failed together do not come back together.
    Some(bound.mul_f64(0.5 + fastrand::f64() / 2.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy(retry_after: Option<u64>) -> Error {
        Error::Refused {
            status: 429,
            message: "slow down".to_owned(),
            retry_after: retry_after.map(Duration::from_secs),
        }
    }

    #[test]
    fn a_server_that_says_how_long_is_obeyed_within_reason() {
        let settings = Client::builder("m").attempts(3);
        assert_eq!(
            pause(&settings, &busy(Some(7)), 0),
            Some(Duration::from_secs(7))
        );
        assert_eq!(pause(&settings, &busy(Some(3_600)), 0), None);
        assert_eq!(pause(&settings, &busy(Some(7)), 2), None);
    }

    #[test]
    fn waits_grow_and_are_bounded() {
        let settings = Client::builder("m").attempts(u32::MAX);
        let first = pause(&settings, &busy(None), 0).unwrap();
        assert!(first >= Duration::from_millis(250) && first <= Duration::from_millis(500));
        let late = pause(&settings, &busy(None), 1_000).unwrap();
        assert!(late >= Duration::from_secs(15) && late <= Duration::from_secs(30));
    }

    #[tokio::test(start_paused = true)]
    async fn the_wait_that_was_asked_for_is_kept() {
        let client = Client::builder("m").api_key("k").build().unwrap();
        let (start, mut calls) = (tokio::time::Instant::now(), 0);
        let answer = client.with_retries(|| {
            calls += 1;
            let outcome = if calls < 3 {
                Err(busy(Some(7)))
            } else {
                Ok(calls)
            };
            std::future::ready(outcome)
        });
        assert_eq!(answer.await.unwrap(), 3);
        let waited = start.elapsed();
        // The clock of the runtime counts in whole milliseconds.
        assert!(waited >= Duration::from_secs(14), "{waited:?}");
        assert!(waited < Duration::from_millis(14_010), "{waited:?}");
    }

    #[test]
    fn no_secret_is_shown() {
        let client = Client::builder("m").api_key("hush").build().unwrap();
        assert!(!format!("{client:?}").contains("hush"));
    }
}
