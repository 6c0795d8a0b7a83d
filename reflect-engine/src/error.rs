//! The engine's error type.

use std::path::PathBuf;
use std::time::Duration;

use reflect_types::{ErrorBody, ErrorCode, InvalidField, ProjectId, TraceId};

use crate::model;

/// The result of an operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The underlying error of a library.
pub(crate) type Source = Box<dyn std::error::Error + Send + Sync>;

/// An error of the engine.
///
/// A failed operation changes nothing, except that a review is kept if a model fails or the engine
/// shuts down; the message says so.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A field is out of range.
    #[error("{0}")]
    Invalid(InvalidField),
    /// The trace or memory does not exist.
    #[error("there is no {what} `{id}` in this project")]
    NotFound {
        /// The kind of thing, such as `trace`.
        what: &'static str,
        /// The requested id.
        id: String,
    },
    /// The project does not exist, and the caller may not create it.
    #[error("project `{0}` does not exist: check its name")]
    NoProject(ProjectId),
    /// The trace was recorded with another API key than the caller's.
    #[error(
        "trace `{0}` was recorded with another API key: deleting it needs a key with the scope \
         `trace:admin`. Nothing was deleted"
    )]
    OthersTrace(TraceId),
    /// The engine has no API keys.
    #[error(
        "an embedded client has no API keys: access to its file is access to everything in it. Keys \
         belong to a server"
    )]
    NoKeys,
    /// The request conflicts with the stored state; the message says what to do instead.
    #[error("{0}")]
    Conflict(String),
    /// The store is locked, full or unreachable, or the engine is shutting down: try again later.
    #[error("{message}")]
    Unavailable {
        /// The problem, and what to do about it.
        message: String,
        /// The error of the store's library.
        #[source]
        source: Option<Source>,
    },
    /// The embedder, reflector or skill writer failed.
    #[error("{0}")]
    Model(#[from] model::Error),
    /// This process cannot read or write the file.
    #[error("{}: {problem}", path.display())]
    Inaccessible {
        /// The file.
        path: PathBuf,
        /// The problem, and what to do about it.
        problem: String,
    },
    /// The file is damaged.
    #[error(
        "{}: the database is damaged ({detail}). Nothing was changed: keep a copy of the file, \
         then restore a backup", path.display()
    )]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// The message of SQLite.
        detail: String,
    },
    /// A newer version wrote the file.
    #[error(
        "{}: the database has format {found}, this version knows formats up to {known}. \
         Nothing was changed: upgrade Reflect to open it", path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The file's format.
        found: i64,
        /// The newest format this version knows.
        known: i64,
    },
    /// There is nothing in the database yet.
    #[error(
        "{}: the database is empty. Nothing was changed: the first server that uses it creates its tables", path.display()
    )]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The file belongs to another program.
    #[error(
        "{}: this is not a Reflect database. Nothing was changed: choose another path", path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A bug in the engine.
    #[error("{message}")]
    Internal {
        /// The failed step.
        message: String,
        /// The cause.
        #[source]
        source: Option<Source>,
    },
}

impl Error {
    /// The machine-readable code.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Invalid(_) => ErrorCode::InvalidField,
            Self::NotFound { .. } | Self::NoProject(_) | Self::NoKeys => ErrorCode::NotFound,
            Self::OthersTrace(_) => ErrorCode::Forbidden,
            Self::Conflict(_) => ErrorCode::Conflict,
            Self::Unavailable { .. } => ErrorCode::Unavailable,
            Self::Model(error) if error.retryable => ErrorCode::Unavailable,
            Self::Model(_) => ErrorCode::ModelFailed,
            Self::Inaccessible { .. }
            | Self::Corrupt { .. }
            | Self::Newer { .. }
            | Self::Empty { .. }
            | Self::Foreign { .. }
            | Self::Internal { .. } => ErrorCode::Internal,
        }
    }

    /// The error as sent to clients.
    pub fn body(&self) -> ErrorBody {
        match self {
            Self::Invalid(invalid) => invalid.clone().into(),
            other => ErrorBody::new(other.code(), other.to_string()),
        }
    }

    /// Whether the same call may succeed later.
    pub fn is_retryable(&self) -> bool {
        self.code() == ErrorCode::Unavailable
    }

    /// The `Retry-After` delay of a model's server, if any.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Model(error) => model::retry_after(error),
            _ => None,
        }
    }

    /// A [`NotFound`](Self::NotFound) error.
    pub fn not_found(what: &'static str, id: impl Into<String>) -> Self {
        Self::NotFound {
            what,
            id: id.into(),
        }
    }

    /// The error of a list whose cursor names nothing.
    pub(crate) fn unknown_cursor(field: &'static str, what: &str, id: &str) -> Self {
        Self::Invalid(InvalidField::new(
            field,
            format!("names no {what} of this project: `{id}`. Omit it to start over"),
        ))
    }

    /// An [`Unavailable`](Self::Unavailable) error without a source.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::Unavailable {
            message: message.into(),
            source: None,
        }
    }

    /// An [`Internal`](Self::Internal) error without a cause.
    pub(crate) fn bug(message: impl Into<String>) -> Self {
        Self::Internal {
            message: message.into(),
            source: None,
        }
    }

    /// An [`Internal`](Self::Internal) error.
    pub fn internal(message: impl Into<String>, source: impl Into<Source>) -> Self {
        Self::Internal {
            message: message.into(),
            source: Some(source.into()),
        }
    }
}

impl From<InvalidField> for Error {
    fn from(invalid: InvalidField) -> Self {
        Self::Invalid(invalid)
    }
}

/// The one answer that there is.
pub(crate) fn only<T>(answers: Vec<Result<T>>) -> Result<T> {
    let first = answers.into_iter().next();
    first.unwrap_or_else(|| Err(Error::bug("a request has no answer")))
}

/// The answers to all requests: some were refused, the others have theirs in order.
pub(crate) fn in_order<T>(refused: Vec<Option<Error>>, others: Vec<Result<T>>) -> Vec<Result<T>> {
    let mut others = others.into_iter();
    let mut other = || only(others.next().into_iter().collect());
    let answers = refused.into_iter();
    answers
        .map(|refused| refused.map_or_else(&mut other, Err))
        .collect()
}
