use std::fmt;
use std::time::Duration;

use reqwest::Method;
use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::redirect::Policy;
use secrecy::SecretString;

use crate::address::{AddressError, base_url};
use crate::header;
use crate::redact::Redactor;
use crate::request::Request;

/// A client of one server. Cheap to clone; clones share a connection pool.
#[derive(Clone)]
pub struct Client {
    base_url: String,
    authorization: Option<HeaderValue>,
    redactor: Redactor,
    settings: Settings,
    connections: reqwest::Client,
}

#[derive(Clone)]
struct Settings {
    user_agent: &'static str,
    connect_timeout: Duration,
    timeout: Duration,
    max_reply_bytes: usize,
}

impl Client {
    /// A client of the server at this address; paths of requests are appended to it.
    pub fn builder(base_url: impl Into<String>) -> Builder {
        Builder {
            base_url: base_url.into(),
            key: None,
            settings: Settings {
                user_agent: concat!("reflect-http/", env!("CARGO_PKG_VERSION")),
                connect_timeout: Duration::from_secs(10),
                timeout: Duration::from_secs(60),
                max_reply_bytes: 64 * 1024 * 1024,
            },
        }
    }

    /// The address of the server, without a slash at its end.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Masks the client's key in text.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// A `GET` request.
    pub fn get(&self, path: &str) -> Request {
        self.request(Method::GET, path)
    }

    /// A `POST` request.
    pub fn post(&self, path: &str) -> Request {
        self.request(Method::POST, path)
    }

    /// A request.
    pub fn request(&self, method: Method, path: &str) -> Request {
        let address = format!("{}{path}", self.base_url);
        let mut builder = self.connections.request(method, address);
        if let Some(authorization) = &self.authorization {
            builder = builder.header(AUTHORIZATION, authorization);
        }
        Request {
            builder,
            redactor: self.redactor.clone(),
            max_reply_bytes: self.settings.max_reply_bytes,
        }
    }

    /// The same client with a connection pool of its own, as a forked process needs it.
    pub fn with_new_connections(&self) -> Result<Self, BuildError> {
        Ok(Self {
            connections: self.settings.connections()?,
            ..self.clone()
        })
    }
}

impl Settings {
    fn connections(&self) -> Result<reqwest::Client, BuildError> {
        let builder = reqwest::Client::builder()
            .user_agent(self.user_agent)
            .connect_timeout(self.connect_timeout)
            .timeout(self.timeout)
            // A key must not follow a redirect, and following would hide a wrong address.
            .redirect(Policy::none());
        #[cfg(feature = "rustls-ring")]
        let builder = {
            let config = crate::ring::config().map_err(BuildError::start)?;
            builder.tls_backend_preconfigured(config)
        };
        builder.build().map_err(BuildError::start)
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("base_url", &self.base_url)
            .finish_non_exhaustive()
    }
}

/// Configures a [`Client`].
#[derive(Clone)]
#[must_use]
pub struct Builder {
    base_url: String,
    key: Option<SecretString>,
    settings: Settings,
}

impl Builder {
    /// Sends the key as `Authorization: Bearer` with every request, and masks it in every text.
    pub fn bearer(mut self, key: SecretString) -> Self {
        self.key = Some(key);
        self
    }

    /// Sets the `User-Agent`.
    pub fn user_agent(mut self, user_agent: &'static str) -> Self {
        self.settings.user_agent = user_agent;
        self
    }

    /// Limits the time to connect; 10 s by default.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.settings.connect_timeout = timeout;
        self
    }

    /// Limits the time from the request to the end of its reply; 60 s by default.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.settings.timeout = timeout;
        self
    }

    /// Limits the length of a reply; 64 MiB by default.
    pub fn max_reply_bytes(mut self, bytes: usize) -> Self {
        self.settings.max_reply_bytes = bytes;
        self
    }

    /// Checks the settings. Nothing is sent.
    pub fn build(self) -> Result<Client, BuildError> {
        let base_url = base_url(&self.base_url)?;
        let authorization = match &self.key {
            None => None,
            Some(key) => {
                let header = header::bearer(key).ok_or(BuildError::EmptyKey)?;
                Some(header.map_err(|_| BuildError::UnprintableKey)?)
            }
        };
        let redactor = Redactor::default();
        Ok(Client {
            base_url,
            authorization,
            redactor: match &self.key {
                Some(key) => redactor.with(key),
                None => redactor,
            },
            connections: self.settings.connections()?,
            settings: self.settings,
        })
    }
}

// Without the address, which is not checked yet and may hold a password.
impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").finish_non_exhaustive()
    }
}

/// Why a client cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The base URL cannot be used.
    #[error("the base URL {0}")]
    Address(#[from] AddressError),
    /// The key is blank.
    #[error("the key is empty")]
    EmptyKey,
    /// The key has characters that no header can carry.
    #[error("the key has characters that no header can carry")]
    UnprintableKey,
    /// The HTTP library failed, for example to load certificates.
    #[error("the HTTP client cannot start: {0}")]
    Start(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl BuildError {
    fn start(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Start(Box::new(error))
    }
}
