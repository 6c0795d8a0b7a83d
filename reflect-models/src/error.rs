use std::time::Duration;

use async_openai::error::OpenAIError;

/// What a caller gets of a model.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a model did not do its work. No text holds a key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The settings cannot work; the text says what to do.
    #[error("{0}")]
    Config(String),
    /// The server answered with an error.
    #[error("the model's server refused with {status}: {message}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// What the server said, cut to an excerpt.
        message: String,
        /// How long the server asks to be left alone.
        retry_after: Option<Duration>,
    },
    /// No answer came, or it broke off.
    #[error("the model cannot be reached: {0}")]
    Unreachable(String),
    /// No answer came in time.
    #[error("the model did not answer within {0:?}")]
    Timeout(Duration),
    /// The answer is not what the protocol says.
    #[error("the model's server answered with something that is no reply: {0}")]
    Malformed(String),
    /// The model answered with nothing.
    #[error("the model's answer is empty")]
    Empty,
    /// The model refused, or a content filter took the answer away.
    #[error("the model declined: {0}")]
    Declined(String),
    /// The answer was cut off at the token limit.
    #[error(
        "the model's answer was cut off at {limit} tokens: raise the limit, or choose a model that is briefer"
    )]
    CutOff {
        /// The limit in force.
        limit: u32,
    },
    /// The model answered, and after several tries still not in a form that can be used.
    #[error("the model's answer cannot be used after {attempts} tries: {problem}")]
    Unusable {
        /// How often it was asked.
        attempts: u32,
        /// What is wrong with the last answer.
        problem: String,
    },
}

impl Error {
    /// Whether the same call may work later.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Refused {
                status, message, ..
            } => match status {
                // An empty account answers as one that asks too often does, and stays empty.
                429 => !message.contains("insufficient_quota"),
                408 | 409 | 425 => true,
                status => *status >= 500 && *status != 501,
            },
            Self::Unreachable(_) | Self::Timeout(_) | Self::Malformed(_) | Self::Empty => true,
            Self::Config(_) | Self::Declined(_) | Self::CutOff { .. } | Self::Unusable { .. } => {
                false
            }
        }
    }

    /// Whether the settings, the key or the account are at fault, and not what was asked: every other
    /// request fares alike until a person has seen to it.
    pub fn is_setup(&self) -> bool {
        match self {
            Self::Config(_) => true,
            Self::Refused {
                status, message, ..
            } => match status {
                401..=404 | 407 => true,
                429 => message.contains("insufficient_quota"),
                _ => false,
            },
            _ => false,
        }
    }

    /// How long the server asks to be left alone.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

// The way out of the HTTP service, through the library, and back in again.
impl From<Error> for OpenAIError {
    fn from(error: Error) -> Self {
        Self::Boxed(Box::new(error))
    }
}

impl From<OpenAIError> for Error {
    fn from(error: OpenAIError) -> Self {
        match error {
            OpenAIError::Boxed(error) => match error.downcast::<Self>() {
                Ok(error) => *error,
                Err(other) => Self::Unreachable(other.to_string()),
            },
            OpenAIError::JSONDeserialize(error, content) => {
                Self::Malformed(format!("{error}, in {}", excerpt(&content)))
            }
            other => Self::Config(other.to_string()),
        }
    }
}

/// The text without the key that a server may have repeated.
pub(crate) fn blot(text: &str, key: Option<&str>) -> String {
    /// What is shorter keeps no secret, and is found in half of all words.
    const SHORTEST: usize = 4;

    match key.map(str::trim).filter(|key| key.len() >= SHORTEST) {
        Some(key) => text.replace(key, "[key]"),
        None => text.to_owned(),
    }
}

/// The beginning of a text, on one line, for an error message.
pub(crate) fn excerpt(text: &str) -> String {
    const LONGEST: usize = 200;

    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("`{}…`", &line[..end]),
        None => format!("`{line}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(status: u16, message: &str) -> Error {
        Error::Refused {
            status,
            message: message.to_owned(),
            retry_after: None,
        }
    }

    #[test]
    fn only_what_may_pass_by_itself_is_tried_again() {
        for status in [408, 429, 500, 502, 503, 529] {
            assert!(refused(status, "later").is_retryable(), "{status}");
        }
        for status in [400, 401, 403, 404, 422, 501] {
            assert!(!refused(status, "no").is_retryable(), "{status}");
        }
        assert!(!refused(429, "insufficient_quota: pay first").is_retryable());
    }

    #[test]
    fn a_wrong_key_or_an_empty_account_is_told_from_a_bad_request() {
        for status in [401, 402, 403, 404] {
            assert!(refused(status, "no").is_setup(), "{status}");
        }
        assert!(refused(429, "insufficient_quota").is_setup());
        for status in [400, 413, 422, 429, 500] {
            assert!(!refused(status, "no").is_setup(), "{status}");
        }
        assert!(!Error::Declined("no".to_owned()).is_setup());
    }

    #[test]
    fn an_excerpt_is_short_and_on_one_line() {
        assert_eq!(excerpt("a\n  b"), "`a b`");
        let long = excerpt(&"é".repeat(500));
        assert_eq!(long.chars().count(), 203);
    }
}
