use std::fmt;
use std::process::ExitCode;

use reflect_types::{ErrorCode, neutral};

/// A failed command: the message and the exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    General = 1,
    Usage = 2,
    NotAllowed = 3,
    NotFound = 4,
    Unreachable = 5,
    Conflict = 6,
}

impl Failure {
    pub(crate) fn general(message: impl Into<String>) -> Self {
        Self::new(Kind::General, message)
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Kind::Usage, message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(Kind::NotFound, message)
    }

    /// Whether this is a usage error.
    pub(crate) fn is_usage(&self) -> bool {
        self.kind == Kind::Usage
    }

    /// Turns a usage error into a general one: the contents of a file are at fault, not the command
    /// line.
    pub(crate) fn of_contents(self) -> Self {
        let kind = match self.kind {
            Kind::Usage => Kind::General,
            kind => kind,
        };
        Self { kind, ..self }
    }

    /// Drops the message, which was printed already, and keeps the exit code.
    pub(crate) fn reported(self) -> Self {
        Self {
            message: String::new(),
            ..self
        }
    }

    /// A conflict with the stored state.
    pub(crate) fn conflict(message: impl Into<String>) -> Self {
        Self::new(Kind::Conflict, message)
    }

    /// Whether a key was refused.
    pub(crate) fn is_not_allowed(&self) -> bool {
        self.kind == Kind::NotAllowed
    }

    /// Whether this is a conflict.
    pub(crate) fn is_conflict(&self) -> bool {
        self.kind == Kind::Conflict
    }

    /// Prefixes the message with the place of the failure.
    pub(crate) fn at(self, place: impl fmt::Display) -> Self {
        Self {
            message: format!("{place}: {}", self.message),
            ..self
        }
    }

    /// Prints the message to standard error.
    pub(crate) fn report(&self) -> ExitCode {
        if !self.message.is_empty() {
            eprintln!("error: {self}");
        }
        ExitCode::from(self.kind as u8)
    }

    fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            kind,
        }
    }

    fn of_status(status: Option<u16>) -> Kind {
        match status {
            Some(401 | 403) => Kind::NotAllowed,
            Some(400 | 422) => Kind::Usage,
            Some(404) => Kind::NotFound,
            Some(409) => Kind::Conflict,
            Some(408 | 429 | 502..=504) => Kind::Unreachable,
            _ => Kind::General,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A server's or a file's words may be part of it.
        f.write_str(&neutral::for_terminal(&self.message))
    }
}

impl From<reflect_sdk::Error> for Failure {
    fn from(error: reflect_sdk::Error) -> Self {
        let kind = match &error {
            reflect_sdk::Error::Transport { .. } | reflect_sdk::Error::Timeout { .. } => {
                Kind::Unreachable
            }
            reflect_sdk::Error::Config(_) | reflect_sdk::Error::Invalid(_) => Kind::Usage,
            // The model's configuration is wrong; a retry does not help.
            other if other.code() == Some(&ErrorCode::ModelFailed) => Kind::General,
            other => Self::of_status(other.status()),
        };
        // Its words have the innermost cause: the chain of sources would repeat it.
        Self::new(kind, error.to_string())
    }
}

impl From<reflect_engine::Error> for Failure {
    fn from(error: reflect_engine::Error) -> Self {
        Self::new(
            Self::of_status(Some(error.code().status())),
            error.to_string(),
        )
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            // The reader of the output has stopped, as `head` does.
            return Self::general("");
        }
        Self::general(error.to_string())
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        // A write error keeps the kind of the underlying I/O error.
        std::io::Error::from(error).into()
    }
}
