use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reflect_types::{ErrorBody, ErrorCode, InvalidField, TraceId};

/// The result of a call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The source of an error from a lower layer.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The error of a call.
///
/// ```
/// use reflect_sdk::ReflectClient;
///
/// async fn show(client: &ReflectClient, id: &str) {
///     match client.get_trace(id).await {
///         Ok(trace) => println!("{}", trace.task),
///         Err(error) if error.status() == Some(404) => println!("not stored (yet)"),
///         Err(error) if error.is_retryable() => println!("try again later: {error}"),
///         Err(error) => println!("{error}"),
///     }
/// }
/// ```
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting is not usable. The text names it and the fix.
    #[error("{0}")]
    Config(String),

    /// A field of the request is out of range. Nothing was sent.
    #[error(transparent)]
    Invalid(#[from] InvalidField),

    /// The server, or the embedded engine, refused.
    #[error("{0}")]
    Api(Box<ApiError>),

    /// No reply arrived: connection refused, name not found, connection lost.
    #[error("{message}")]
    Transport {
        /// What happened, without addresses, which could hold a secret.
        message: String,
        /// Whether the request may have been carried out nevertheless.
        maybe_done: bool,
        /// The error of the HTTP library.
        #[source]
        source: Option<Arc<dyn std::error::Error + Send + Sync>>,
    },

    /// The reply is not what the API promises.
    #[error("unexpected reply with status {status}: {problem}; it begins: {excerpt}")]
    Decode {
        /// The HTTP status of the reply.
        status: u16,
        /// What was wrong with it.
        problem: String,
        /// The beginning of the body, with keys masked.
        excerpt: String,
    },

    /// The trace is stored, but no memory could be made from it.
    #[error("trace {trace_id} could not be ingested: {reason}")]
    IngestFailed {
        /// The stored trace.
        trace_id: TraceId,
        /// Why, in the server's words.
        reason: String,
    },

    /// A time limit passed.
    #[error("{what} took longer than {after:?}")]
    Timeout {
        /// What was waited for.
        what: String,
        /// The time limit.
        after: Duration,
    },

    /// Reflect was not asked for memories, because it did not answer shortly before.
    #[error("Reflect is not asked for memories until it answers again: {0}")]
    Skipped(#[source] Box<Error>),

    /// A blocking call was made on the client's own I/O thread.
    #[error(
        "a blocking call inside Reflect's own I/O thread would wait for itself: use the async call"
    )]
    WouldDeadlock,

    /// The run is not recorded; the text says why.
    #[error("the run was not recorded: {0}")]
    NotRecorded(String),

    /// The client is [disabled](crate::ReflectClient::disabled).
    #[error("this client is disabled: build one with `ReflectClient::builder()` or `from_env()`")]
    Disabled,

    /// The client belongs to the process that forked this one.
    #[error("a client does not survive a fork: build one after the fork")]
    Forked,

    /// The I/O thread could not be started, or a call inside it panicked.
    #[error("Reflect's I/O thread failed: {0}")]
    Worker(String),
}

/// A refusal by the server or the embedded engine.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ApiError {
    /// The HTTP status, or the equivalent of an embedded engine's error.
    pub status: u16,
    /// The reason, for programs.
    pub code: ErrorCode,
    /// The reason, for people.
    pub detail: String,
    /// The field at fault, if any.
    pub field: Option<String>,
    /// The server's id of the request, for support.
    pub request_id: Option<String>,
    /// The `Retry-After` delay, if any.
    pub retry_after: Option<Duration>,
    /// Whether Reflect itself refused, and not a proxy in between.
    pub(crate) by_reflect: bool,
}

impl Error {
    /// Whether the same call may work later.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Api(api) => {
                matches!(api.status, 408 | 425 | 429 | 500 | 502..=599)
                    && api.code != ErrorCode::ModelFailed
            }
            Self::Transport { .. } | Self::Timeout { .. } | Self::Skipped(_) => true,
            _ => false,
        }
    }

    /// The HTTP status of the reply, if any.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Api(api) => Some(api.status),
            Self::Decode { status, .. } => Some(*status),
            Self::Skipped(failure) => failure.status(),
            _ => None,
        }
    }

    /// The code of a refusal.
    pub fn code(&self) -> Option<&ErrorCode> {
        match self {
            Self::Api(api) => Some(&api.code),
            _ => None,
        }
    }

    /// The `Retry-After` delay of a refusal, if any.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Api(api) => api.retry_after,
            _ => None,
        }
    }

    /// Sets the `Retry-After` delay of a refusal.
    #[must_use]
    pub fn with_retry_after(mut self, delay: Option<Duration>) -> Self {
        if let Self::Api(api) = &mut self {
            api.retry_after = delay;
        }
        self
    }

    /// Whether the request itself is at fault, so that it will never be accepted.
    pub(crate) fn is_refusal(&self) -> bool {
        match self {
            Self::Api(api) => matches!(api.status, 400 | 413 | 422),
            Self::Invalid(_) | Self::Config(_) => true,
            _ => false,
        }
    }

    /// Whether the fault may pass, or be mended: a server that is down, a revoked key, a wrong address.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::Api(_) => !self.is_refusal(),
            Self::Decode { .. } => true,
            _ => self.is_unanswered(),
        }
    }

    /// Whether no reply has arrived.
    pub(crate) fn is_unanswered(&self) -> bool {
        matches!(self, Self::Transport { .. } | Self::Timeout { .. })
    }

    pub(crate) fn timeout(what: impl Into<String>, after: Duration) -> Self {
        let what = what.into();
        Self::Timeout { what, after }
    }

    /// Whether it is certain that the request was not carried out.
    pub(crate) fn nothing_was_done(&self) -> bool {
        match self {
            // A proxy's 503 may come after the server has done its part.
            Self::Api(api) => api.status == 429 || (api.status == 503 && api.by_reflect),
            Self::Transport { maybe_done, .. } => !maybe_done,
            _ => false,
        }
    }
}

impl From<ErrorBody> for Error {
    fn from(body: ErrorBody) -> Self {
        Self::Api(Box::new(ApiError {
            status: body.code.status(),
            code: body.code,
            detail: body.detail,
            field: body.field,
            request_id: None,
            retry_after: None,
            by_reflect: true,
        }))
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} {})", self.detail, self.status, self.code)?;
        if let Some(id) = &self.request_id {
            write!(f, ", request {id}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
impl ApiError {
    pub(crate) fn refusal(code: ErrorCode, retry_after: Option<Duration>) -> Error {
        Error::from(ErrorBody::new(code, "no")).with_retry_after(retry_after)
    }
}
