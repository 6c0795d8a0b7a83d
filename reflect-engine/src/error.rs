use std::path::PathBuf;
use std::time::Duration;

use reflect_types::{ErrorBody, ErrorCode, InvalidField, ProjectId};

use crate::model;

/// What a caller gets of an operation that may fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason below a failure, as the library that met it tells it.
pub type Source = Box<dyn std::error::Error + Send + Sync>;

/// Why the engine did not do what it was asked. Nothing was changed, except that a review which met
/// a failing model, or a shutdown, is kept and says so.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A field is out of range.
    #[error("{0}")]
    Invalid(InvalidField),
    /// There is no such thing.
    #[error("there is no {what} `{id}` in this project")]
    NotFound {
        /// What was looked for, such as `trace`.
        what: &'static str,
        /// The id it was looked for by.
        id: String,
    },
    /// There is no such project, and the caller may not make one.
    #[error(
        "there is no project `{0}`: it was deleted, or never made; whoever has a master key can make it"
    )]
    NoProject(ProjectId),
    /// The engine has no API keys.
    #[error(
        "an embedded client has no API keys, because whoever can open its file may do everything: \
         keys belong to a server"
    )]
    NoKeys,
    /// The request contradicts what is stored; the text says what to do instead.
    #[error("{0}")]
    Conflict(String),
    /// The store is locked, full or away, or the engine is shutting down: try again later.
    #[error("{message}")]
    Unavailable {
        /// What is in the way, and what to do about it.
        message: String,
        /// What the store's library said.
        #[source]
        source: Option<Source>,
    },
    /// The embedder or the reflector did not do its work.
    #[error("{0}")]
    Model(#[from] model::Error),
    /// The file cannot be read or written by this process.
    #[error("{}: {problem}", path.display())]
    Inaccessible {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to do about it.
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
        /// What SQLite said.
        detail: String,
    },
    /// The file was written by a newer version.
    #[error(
        "{}: the database has format {found}, this version knows formats up to {known}. \
         Nothing was changed: upgrade Reflect to open it", path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The format it has.
        found: i64,
        /// The newest format this version knows.
        known: i64,
    },
    /// The file belongs to another program.
    #[error(
        "{}: this is not a Reflect database. Nothing was changed: choose another path", path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A defect.
    #[error("{message}")]
    Internal {
        /// What failed.
        message: String,
        /// Why.
        #[source]
        source: Option<Source>,
    },
}

impl Error {
    /// The failure as a program reads it.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Invalid(_) => ErrorCode::InvalidField,
            Self::NotFound { .. } | Self::NoProject(_) | Self::NoKeys => ErrorCode::NotFound,
            Self::Conflict(_) => ErrorCode::Conflict,
            Self::Unavailable { .. } => ErrorCode::Unavailable,
            Self::Model(error) if error.retryable => ErrorCode::Unavailable,
            Self::Model(_) => ErrorCode::ModelFailed,
            Self::Inaccessible { .. }
            | Self::Corrupt { .. }
            | Self::Newer { .. }
            | Self::Foreign { .. }
            | Self::Internal { .. } => ErrorCode::Internal,
        }
    }

    /// The failure as it stands on the wire.
    pub fn body(&self) -> ErrorBody {
        match self {
            Self::Invalid(invalid) => invalid.clone().into(),
            other => ErrorBody::new(other.code(), other.to_string()),
        }
    }

    /// Whether the same call may work later.
    pub fn is_retryable(&self) -> bool {
        self.code() == ErrorCode::Unavailable
    }

    /// How long a model's server asks to be left alone, where it does.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Model(error) => model::retry_after(error),
            _ => None,
        }
    }

    /// There is no `what` of this id.
    pub fn not_found(what: &'static str, id: impl Into<String>) -> Self {
        Self::NotFound {
            what,
            id: id.into(),
        }
    }

    /// A page was asked for beyond something that is not there (any more).
    pub(crate) fn unknown_cursor(field: &'static str, what: &str, id: &str) -> Self {
        Self::Invalid(InvalidField::new(
            field,
            format!("names no {what} of this project: `{id}`. Begin again without it"),
        ))
    }

    /// Something is in the way for now.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::Unavailable {
            message: message.into(),
            source: None,
        }
    }

    /// A defect, and what it was seen by.
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
