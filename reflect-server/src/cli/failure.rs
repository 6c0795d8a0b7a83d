use std::fmt;
use std::process::ExitCode;

use reflect_types::ErrorCode;

/// Why a command was not carried out, and the exit code that says so.
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

    /// Whether what was asked makes no sense.
    pub(crate) fn is_usage(&self) -> bool {
        self.kind == Kind::Usage
    }

    /// The same of what a file holds, which is no matter of usage.
    pub(crate) fn of_contents(self) -> Self {
        let kind = match self.kind {
            Kind::Usage => Kind::General,
            kind => kind,
        };
        Self { kind, ..self }
    }

    /// The same, where it was told already: only the exit code is left to say.
    pub(crate) fn told(self) -> Self {
        Self {
            message: String::new(),
            ..self
        }
    }

    /// What is there contradicts what was asked.
    pub(crate) fn conflict(message: impl Into<String>) -> Self {
        Self::new(Kind::Conflict, message)
    }

    /// Whether what is there contradicts what was asked.
    pub(crate) fn is_conflict(&self) -> bool {
        self.kind == Kind::Conflict
    }

    /// The same, with what to do about a conflict.
    pub(crate) fn advising(self, advice: &str) -> Self {
        if !self.is_conflict() {
            return self;
        }
        Self {
            message: format!("{} ({advice})", self.message),
            ..self
        }
    }

    /// The same, with the place where it happened before it.
    pub(crate) fn at(self, place: impl fmt::Display) -> Self {
        Self {
            message: format!("{place}: {}", self.message),
            ..self
        }
    }

    /// A server's refusal.
    pub(crate) fn refused(status: u16, detail: &str) -> Self {
        Self::new(
            Self::of_status(Some(status)),
            format!("{detail} ({status})"),
        )
    }

    /// Says it on the standard error.
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
        f.write_str(&self.message)
    }
}

impl From<reflect_sdk::Error> for Failure {
    fn from(error: reflect_sdk::Error) -> Self {
        let kind = match &error {
            reflect_sdk::Error::Transport { .. } | reflect_sdk::Error::Timeout { .. } => {
                Kind::Unreachable
            }
            reflect_sdk::Error::Config(_) | reflect_sdk::Error::Invalid(_) => Kind::Usage,
            // Somebody has to see to the model; trying again is of no use.
            other if other.code() == Some(&ErrorCode::ModelFailed) => Kind::General,
            other => Self::of_status(other.status()),
        };
        Self::new(kind, with_reasons(&error))
    }
}

/// The error and what is behind it.
fn with_reasons(error: &dyn std::error::Error) -> String {
    let mut message = error.to_string();
    let mut below = error.source();
    while let Some(reason) = below {
        message = format!("{message}: {reason}");
        below = reason.source();
    }
    message
}

impl From<reflect_engine::Error> for Failure {
    fn from(error: reflect_engine::Error) -> Self {
        Self::new(
            Self::of_status(Some(error.code().status())),
            error.to_string(),
        )
    }
}

impl From<reqwest::Error> for Failure {
    fn from(error: reqwest::Error) -> Self {
        // The address is the caller's own, and may hold what should not be shown.
        let error = error.without_url();
        let kind = if error.is_builder() {
            Kind::Usage
        } else {
            Kind::Unreachable
        };
        Self::new(kind, with_reasons(&error))
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            // Whoever read the output has read enough, as `head` does.
            return Self::general("");
        }
        Self::general(error.to_string())
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        // One that came from writing is the writer's, kind and all.
        std::io::Error::from(error).into()
    }
}
