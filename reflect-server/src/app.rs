use std::num::NonZeroU32;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reflect_engine::Engine;
use reflect_models::{Client, Judge};
use secrecy::SecretString;
use tokio::sync::Semaphore;

use crate::keys::Keys;
use crate::metrics::Metrics;
use crate::rate::Rate;

/// What all requests share. Clones share one application.
#[derive(Clone, Debug)]
pub struct App {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    engine: Engine,
    keys: Keys,
    settings: Settings,
    rate: Rate,
    places: Semaphore,
    metrics: Metrics,
    judge: OnceLock<Judge>,
}

/// How the service treats requests.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The largest body that is read, in bytes.
    pub body_limit: usize,
    /// How long a request may take; what it began may still be finished.
    pub request_timeout: Duration,
    /// How many requests are worked on at once; more are asked to come back.
    pub max_in_flight: usize,
    /// How many requests a second one key may make.
    pub rate_limit: Option<NonZeroU32>,
    /// What opens `/v1/bootstrap`; without it that is closed.
    pub bootstrap_token: Option<SecretString>,
    /// The hosts under which `/mcp` may be called, against pages that rebind their name; none means
    /// any.
    pub allowed_hosts: Vec<String>,
    /// The web pages that may call `/mcp`, such as `https://app.example.com:443`. Callers that are
    /// no page do not say where they come from, and are let in.
    pub allowed_origins: Vec<String>,
    /// How long requests that are under way get when the server is told to stop.
    pub shutdown_grace: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            body_limit: 8 * 1024 * 1024,
            // Clients wait for 60 s; the answer should come before they turn away.
            request_timeout: Duration::from_secs(55),
            max_in_flight: 1_024,
            rate_limit: None,
            bootstrap_token: None,
            allowed_hosts: ["localhost", "127.0.0.1", "::1"]
                .map(str::to_owned)
                .to_vec(),
            allowed_origins: Vec::new(),
            shutdown_grace: Duration::from_secs(30),
        }
    }
}

impl App {
    /// Puts an engine and its keys together.
    pub fn new(engine: Engine, keys: Keys, settings: Settings) -> Self {
        Self {
            shared: Arc::new(Shared {
                rate: Rate::new(settings.rate_limit),
                places: Semaphore::new(settings.max_in_flight.min(Semaphore::MAX_PERMITS)),
                metrics: Metrics::new(),
                judge: OnceLock::new(),
                engine,
                keys,
                settings,
            }),
        }
    }

    /// Has runs that wait for a review judged by a model while the application is served.
    #[must_use]
    pub fn judging(self, judge: Judge) -> Self {
        // The first one stays, should there be another.
        let _ = self.shared.judge.set(judge);
        self
    }

    /// Shows what is asked of a model among the metrics, under a name such as `llm`.
    #[must_use]
    pub fn watching(self, name: &'static str, model: Client) -> Self {
        self.shared.metrics.watch(name, model);
        self
    }

    /// What does the work.
    pub fn engine(&self) -> &Engine {
        &self.shared.engine
    }

    /// Who may ask for it.
    pub fn keys(&self) -> &Keys {
        &self.shared.keys
    }

    /// How requests are treated.
    pub fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    pub(crate) fn rate(&self) -> &Rate {
        &self.shared.rate
    }

    pub(crate) fn places(&self) -> &Semaphore {
        &self.shared.places
    }

    pub(crate) fn judge(&self) -> Option<&Judge> {
        self.shared.judge.get()
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.shared.metrics
    }
}
