use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use ipnet::IpNet;
use reflect_engine::{Engine, Error};
use reflect_models::Client;
use secrecy::SecretString;
use tokio::sync::Semaphore;

use crate::body_budget::BodyBudget;
use crate::client_address::client_address;
use crate::decoded_budget::DecodedBudget;
use crate::failed_attempts::{Attempt, FailedAttempts};
use crate::judge::CountedJudge;
use crate::keys::Keys;
use crate::metrics::Metrics;
use crate::rate::Rate;
use crate::readiness::Readiness;
use crate::reply::ReplySlots;
use crate::sessions::Sessions;
use crate::tls::Tls;

/// The state shared by all requests. Cheap to clone.
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
    failures: FailedAttempts,
    slots: Semaphore,
    bodies: BodyBudget,
    decoded: DecodedBudget,
    replies: ReplySlots,
    readiness: Readiness,
    metrics: Metrics,
    sessions: Sessions,
}

/// The settings of the service.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Maximum request body, in bytes. All bodies in memory together are limited to 16 times as many;
    /// further ones get a 503.
    pub body_limit: usize,
    /// Request timeout. An operation in progress may still complete.
    pub request_timeout: Duration,
    /// Maximum concurrent requests; further ones get a 503.
    pub max_in_flight: usize,
    /// Maximum open connections. At most as many as the limit of open files permits; a new one
    /// beyond it replaces the connection that has been idle longest, or is refused.
    pub max_connections: usize,
    /// Maximum open connections of an IPv4 address or IPv6 /64, except from `trusted_proxies`.
    pub max_connections_per_address: usize,
    /// Maximum requests per second and key.
    pub rate_limit: Option<NonZeroU32>,
    /// The token that enables `/v1/bootstrap`.
    pub bootstrap_token: Option<SecretString>,
    /// The networks of proxies whose `X-Forwarded-For` or `Forwarded` header names the client. Without
    /// one, the client is the peer of the connection.
    pub trusted_proxies: Vec<IpNet>,
    /// The certificate to serve HTTPS with; plain HTTP without one.
    pub tls: Option<Tls>,
    /// The `Host` headers that `/mcp` accepts, against DNS rebinding; empty accepts any.
    pub allowed_hosts: Vec<String>,
    /// The origins of web pages that may call `/mcp`, such as `https://app.example.com:443`. Requests
    /// without an `Origin` header are accepted.
    pub allowed_origins: Vec<String>,
    /// Whether a trace may bring its review without the scope `review:write`.
    pub lenient_inline_reviews: bool,
    /// Time for open requests to finish at shutdown.
    pub shutdown_grace: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            body_limit: 8 * 1024 * 1024,
            // Below the clients' timeout of 60 s.
            request_timeout: Duration::from_secs(55),
            max_in_flight: 1_024,
            max_connections: 1_024,
            max_connections_per_address: 256,
            rate_limit: None,
            bootstrap_token: None,
            trusted_proxies: Vec::new(),
            tls: None,
            allowed_hosts: ["localhost", "127.0.0.1", "::1"]
                .map(str::to_owned)
                .to_vec(),
            allowed_origins: Vec::new(),
            lenient_inline_reviews: false,
            shutdown_grace: Duration::from_secs(30),
        }
    }
}

impl App {
    /// An application of an engine and its keys.
    pub fn new(engine: Engine, keys: Keys, settings: Settings) -> Self {
        Self {
            shared: Arc::new(Shared {
                rate: Rate::new(settings.rate_limit),
                failures: FailedAttempts::default(),
                slots: Semaphore::new(settings.max_in_flight.min(Semaphore::MAX_PERMITS)),
                bodies: BodyBudget::new(settings.body_limit),
                decoded: DecodedBudget::default(),
                replies: ReplySlots::default(),
                readiness: Readiness::default(),
                metrics: Metrics::new(),
                sessions: Sessions::default(),
                engine,
                keys,
                settings,
            }),
        }
    }

    /// Adds the outcomes of the engine's judge to the metrics.
    #[must_use]
    pub fn judging(self, judge: &CountedJudge) -> Self {
        self.shared.metrics.judged(judge.outcomes().clone());
        self
    }

    /// Adds a model's usage to the metrics, under a name such as `llm`.
    #[must_use]
    pub fn watching(self, name: &'static str, model: Client) -> Self {
        self.shared.metrics.watch(name, model);
        self
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.shared.engine
    }

    /// The keys.
    pub fn keys(&self) -> &Keys {
        &self.shared.keys
    }

    /// The path of a link to the console that signs a browser in with a key, once and within ten minutes.
    /// The key is given by its public id.
    pub fn sign_in_link(&self, public_id: &str) -> Result<String, Error> {
        let token = self.shared.sessions.link(public_id);
        let token = token.map_err(|error| Error::internal("no random number", error))?;
        Ok(format!("/sign-in/once?token={token}"))
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    pub(crate) fn rate(&self) -> &Rate {
        &self.shared.rate
    }

    /// Counts an attempt to authenticate, or refuses it for a time after too many wrong ones from the
    /// client's address.
    pub(crate) fn begin_attempt(&self, parts: &Parts) -> Result<Attempt<'_>, Duration> {
        let address = client_address(parts, &self.shared.settings.trusted_proxies);
        self.shared.failures.begin(address)
    }

    pub(crate) fn slots(&self) -> &Semaphore {
        &self.shared.slots
    }

    pub(crate) fn bodies(&self) -> &BodyBudget {
        &self.shared.bodies
    }

    pub(crate) fn decoded(&self) -> &DecodedBudget {
        &self.shared.decoded
    }

    pub(crate) fn readiness(&self) -> &Readiness {
        &self.shared.readiness
    }

    /// Slots of replies that may be long.
    pub(crate) fn replies(&self) -> &ReplySlots {
        &self.shared.replies
    }

    /// The sessions of the console.
    pub(crate) fn sessions(&self) -> &Sessions {
        &self.shared.sessions
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.shared.metrics
    }
}
