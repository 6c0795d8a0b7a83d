use std::time::Duration;

/// The result of a model call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The failure of a model call. No text holds a key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The settings cannot work; the text names the fix.
    #[error("{0}")]
    Config(String),
    /// The server answered with an error status.
    #[error("the model's server refused with {status}: {message}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// An excerpt of the server's message.
        message: String,
        /// The `Retry-After` delay, if any.
        retry_after: Option<Duration>,
    },
    /// No reply arrived, or it broke off.
    #[error("the model cannot be reached: {0}")]
    Unreachable(String),
    /// No reply arrived in time.
    #[error(
        "the model did not answer within {0:?}: set a longer timeout (`--llm-timeout` or \
         `--embeddings-timeout` on the command line, `Builder::timeout` in code), or choose a faster \
         model"
    )]
    Timeout(Duration),
    /// The reply does not follow the protocol.
    #[error("the model's server sent an unexpected reply: {0}")]
    Malformed(String),
    /// The answer is blank.
    #[error("the model's answer is empty")]
    Empty,
    /// The model refused, or a content filter removed the answer.
    #[error("the model declined: {0}")]
    Declined(String),
    /// The answer reached the token limit.
    #[error(
        "the model's answer was cut off at {limit} tokens: raise the limit, or choose a less verbose model"
    )]
    CutOff {
        /// The limit in force.
        limit: u32,
    },
    /// No answer had a usable form, after several attempts.
    #[error("the model's answer is unusable after {attempts} attempts: {problem}")]
    Unusable {
        /// The number of answers.
        attempts: u32,
        /// The problem of the last answer.
        problem: String,
    },
}

impl Error {
    /// Whether the same call may succeed later.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Refused {
                status, message, ..
            } => match status {
                // An exhausted account is reported like a rate limit, but stays exhausted.
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

    /// Whether the settings, the key or the account are at fault. Every request fails until they are
    /// corrected.
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

    /// The `Retry-After` delay, if any.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused { retry_after, .. } => *retry_after,
            _ => None,
        }
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
    fn transient_errors_are_retryable() {
        for status in [408, 429, 500, 502, 503, 529] {
            assert!(refused(status, "later").is_retryable(), "{status}");
        }
        for status in [400, 401, 403, 404, 422, 501] {
            assert!(!refused(status, "no").is_retryable(), "{status}");
        }
        assert!(!refused(429, "insufficient_quota: pay first").is_retryable());
    }

    #[test]
    fn a_wrong_key_or_an_exhausted_account_is_a_setup_error() {
        for status in [401, 402, 403, 404] {
            assert!(refused(status, "no").is_setup(), "{status}");
        }
        assert!(refused(429, "insufficient_quota").is_setup());
        for status in [400, 413, 422, 429, 500] {
            assert!(!refused(status, "no").is_setup(), "{status}");
        }
        assert!(!Error::Declined("no".to_owned()).is_setup());
    }
}
