use std::sync::{Mutex, PoisonError};

use crate::error::Error;

/// The parameters that a server accepts, as far as its refusals have shown.
#[derive(Debug, Default)]
pub(crate) struct Dialect(Mutex<Parameters>);

/// The optional parameters of a chat request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parameters {
    /// The token limit is named `max_completion_tokens` instead of `max_tokens`.
    pub(crate) max_completion_tokens: bool,
    /// `response_format` is left out.
    pub(crate) no_format: bool,
}

impl Dialect {
    pub(crate) fn new(parameters: Parameters) -> Self {
        Self(Mutex::new(parameters))
    }

    /// The parameters for the next request.
    pub(crate) fn parameters(&self) -> Parameters {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Learns from the refusal of a request with these parameters. Returns those to try next, which a
    /// concurrent request may have found; `None` if the parameters are not at fault.
    pub(crate) fn learn(&self, used: Parameters, error: &Error) -> Option<Parameters> {
        let Error::Refused {
            status: 400 | 422,
            message,
            ..
        } = error
        else {
            return None;
        };
        let message = message.to_ascii_lowercase();
        let limit = if used.max_completion_tokens {
            "max_completion_tokens"
        } else {
            "max_tokens"
        };
        let mut now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if is_unknown(&message) && message.contains(limit) {
            now.max_completion_tokens = !used.max_completion_tokens;
            return Some(*now);
        }
        let format = message.contains("response_format") || message.contains("json_object");
        // Some servers know the parameter, but require a schema.
        if !used.no_format && format && (is_unknown(&message) || message.contains("must be")) {
            now.no_format = true;
            return Some(*now);
        }
        None
    }
}

/// Whether a refusal is about the name of a parameter, not about its value: a limit that is too large
/// is too large by either name.
fn is_unknown(message: &str) -> bool {
    const NAME: [&str; 11] = [
        "unsupported parameter",
        "unsupported_parameter",
        "unknown",
        "unrecognized",
        "not supported",
        "not support",
        "unexpected",
        "not permitted",
        "not allowed",
        "extra_forbidden",
        "extra fields",
    ];
    const VALUE: [&str; 6] = [
        "too large",
        "too long",
        "too many",
        "context",
        "at most",
        "exceed",
    ];
    let has = |words: &[&str]| words.iter().any(|word| message.contains(word));
    has(&NAME) && !has(&VALUE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(message: &str) -> Error {
        Error::Refused {
            status: 400,
            message: message.to_owned(),
            retry_after: None,
        }
    }

    const OLDER: Parameters = Parameters {
        max_completion_tokens: false,
        no_format: false,
    };
    const NEWER: Parameters = Parameters {
        max_completion_tokens: true,
        no_format: false,
    };

    #[test]
    fn concurrent_refusals_learn_the_same() {
        let dialect = Dialect::default();
        let limit = refused(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use \
             'max_completion_tokens' instead.",
        );
        // All were sent before the first refusal.
        for _ in 0..8 {
            assert_eq!(dialect.learn(OLDER, &limit), Some(NEWER));
        }
        assert_eq!(dialect.parameters(), NEWER);
        let format = refused("'response_format.type' must be 'json_schema'");
        let learned = dialect.learn(NEWER, &format).unwrap();
        assert!(learned.max_completion_tokens && learned.no_format);
        assert_eq!(dialect.learn(learned, &format), None);
    }

    #[test]
    fn a_name_that_is_refused_too_is_reverted() {
        let dialect = Dialect::default();
        let older = refused("Unknown argument max_tokens");
        let newer = refused(r#"[{"loc": ["max_completion_tokens"], "type": "extra_forbidden"}]"#);
        assert_eq!(dialect.learn(OLDER, &older), Some(NEWER));
        assert_eq!(dialect.learn(NEWER, &newer), Some(OLDER));
        assert_eq!(dialect.parameters(), OLDER);
    }

    #[test]
    fn a_refused_value_changes_no_parameter() {
        let dialect = Dialect::default();
        for message in [
            "max_tokens is too large: 2000. This model supports at most 1024",
            "max_tokens 2000 exceeds the context length, which is not supported",
            "max_tokens must be positive",
            "Unsupported parameter: 'max_completion_tokens'",
            "no such model",
        ] {
            assert_eq!(dialect.learn(OLDER, &refused(message)), None, "{message}");
        }
        assert_eq!(dialect.parameters(), OLDER);
    }
}
