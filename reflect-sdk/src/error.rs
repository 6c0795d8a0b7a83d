use std::fmt;
use std::time::Duration;

use reflect_types::{ErrorBody, ErrorCode, InvalidField, TraceId};

/// The result of every call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Whatever a lower layer said, kept as the source of an error.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Everything that can go wrong in a call.
///
/// ```
/// # async fn run(client: reflect_sdk::ReflectClient) {
/// match client.get_trace("0198").await {
///     Ok(trace) => println!("{}", trace.task),
///     Err(error) if error.status() == Some(404) => println!("not there (yet)"),
///     Err(error) if error.is_retryable() => println!("try again later: {error}"),
///     Err(error) => println!("{error}"),
/// }
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The client cannot be built like this; the text names the setting and the fix.
    #[error("{0}")]
    Config(String),

    /// A field of the request is out of range. Nothing was sent.
    #[error(transparent)]
    Invalid(#[from] InvalidField),

    /// The server, or the engine, refused.
    #[error("{0}")]
    Api(Box<ApiError>),

    /// No answer came: connection refused, name not found, connection lost.
    #[error("{message}")]
    Transport {
        /// What happened, without addresses that could hold a secret.
        message: String,
        /// Whether the request may have been carried out all the same.
        maybe_done: bool,
        /// What the HTTP library said.
        #[source]
        source: Option<BoxError>,
    },

    /// An answer came that is not what the API promises.
    #[error("unexpected reply with status {status}: {problem}; it begins: {excerpt}")]
    Decode {
        /// The HTTP status of the reply.
        status: u16,
        /// What was wrong with it.
        problem: String,
        /// How the body begins, with anything that looks like a key blotted out.
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

    /// It took too long.
    #[error("{what} took longer than {after:?}")]
    Timeout {
        /// What was waited for.
        what: String,
        /// How long it was waited for.
        after: Duration,
    },

    /// A blocking call was made on the thread that would have to answer it.
    #[error(
        "a blocking call inside Reflect's own I/O thread would wait for itself: use the async call"
    )]
    WouldDeadlock,

    /// Nothing was, or will be, recorded of the run; the text says why.
    #[error("the run was not recorded: {0}")]
    NotRecorded(String),

    /// The client is a [disabled](crate::ReflectClient::disabled) one.
    #[error("this client is disabled: build one with `ReflectClient::builder()` or `from_env()`")]
    Disabled,

    /// The I/O thread could not be started, or a call inside it panicked.
    #[error("Reflect's I/O thread failed: {0}")]
    Worker(String),
}

/// A refusal, with all that is known about it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ApiError {
    /// The HTTP status, or the one that an embedded engine's error stands for.
    pub status: u16,
    /// Why, for programs.
    pub code: ErrorCode,
    /// Why, for a person.
    pub detail: String,
    /// The field it is about, where one is.
    pub field: Option<String>,
    /// The server's name for the request, to be quoted when asking for help.
    pub request_id: Option<String>,
    /// How long the server asks to be left alone.
    pub retry_after: Option<Duration>,
    /// Whether Reflect itself refused, rather than something between here and there.
    pub(crate) by_reflect: bool,
}

impl Error {
    /// Whether the same call may work later.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Api(api) => {
                matches!(api.status, 408 | 425 | 429 | 500 | 502..=504)
                    && api.code != ErrorCode::ModelFailed
            }
            Self::Transport { .. } | Self::Timeout { .. } => true,
            _ => false,
        }
    }

    /// The HTTP status of the refusal, where there was one.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Api(api) => Some(api.status),
            Self::Decode { status, .. } => Some(*status),
            _ => None,
        }
    }

    /// Why the server refused, where it did.
    pub fn code(&self) -> Option<&ErrorCode> {
        match self {
            Self::Api(api) => Some(&api.code),
            _ => None,
        }
    }

    /// How long the server asks to be left alone, where it does.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Api(api) => api.retry_after,
            _ => None,
        }
    }

    /// Whether the request itself is at fault, so that it will never be accepted. A key that was
    /// revoked or an address that is wrong is not: a run is kept until that is put right.
    pub(crate) fn is_refusal(&self) -> bool {
        match self {
            Self::Api(api) => matches!(api.status, 400 | 409 | 413 | 422),
            Self::Invalid(_) | Self::Config(_) => true,
            _ => false,
        }
    }

    /// The same error for a second listener. What a lower layer said is told, but not handed on.
    pub(crate) fn duplicate(&self) -> Self {
        match self {
            Self::Config(text) => Self::Config(text.clone()),
            Self::Invalid(field) => Self::Invalid(field.clone()),
            Self::Api(api) => Self::Api(api.clone()),
            Self::Transport {
                message,
                maybe_done,
                source: _,
            } => Self::Transport {
                message: message.clone(),
                maybe_done: *maybe_done,
                source: None,
            },
            Self::Decode {
                status,
                problem,
                excerpt,
            } => Self::Decode {
                status: *status,
                problem: problem.clone(),
                excerpt: excerpt.clone(),
            },
            Self::IngestFailed { trace_id, reason } => Self::IngestFailed {
                trace_id: trace_id.clone(),
                reason: reason.clone(),
            },
            Self::Timeout { what, after } => Self::Timeout {
                what: what.clone(),
                after: *after,
            },
            Self::WouldDeadlock => Self::WouldDeadlock,
            Self::NotRecorded(why) => Self::NotRecorded(why.clone()),
            Self::Disabled => Self::Disabled,
            Self::Worker(problem) => Self::Worker(problem.clone()),
        }
    }

    /// Whether it is certain that the request was not carried out, so that sending it once more
    /// cannot do anything twice.
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
