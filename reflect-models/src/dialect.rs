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
    /// `response_format` has no `json_schema`.
    pub(crate) no_schema: bool,
    /// `response_format` has no `json_object`.
    pub(crate) no_object: bool,
}

/// The `response_format` of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// `json_schema`.
    Schema,
    /// `json_object`.
    Object,
}

impl Dialect {
    pub(crate) fn new(parameters: Parameters) -> Self {
        Self(Mutex::new(parameters))
    }

    /// The parameters for the next request.
    pub(crate) fn parameters(&self) -> Parameters {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Learns from the refusal of a request with these parameters and this format. Returns those to try next, which a
    /// concurrent request may have found; `None` if the parameters are not at fault.
    pub(crate) fn learn(
        &self,
        used: Parameters,
        format: Option<Format>,
        error: &Error,
    ) -> Option<Parameters> {
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
        let names = |words: &[&str]| words.iter().any(|word| message.contains(word));
        match format {
            Some(Format::Schema) if names(&["response_format", "schema", "grammar"]) => {
                now.no_schema = true;
                return Some(*now);
            }
            // Some servers know the parameter, but require a schema.
            Some(Format::Object)
                if names(&["response_format", "json_object"])
                    && (is_unknown(&message) || names(&["must be", "should be"])) =>
            {
                now.no_object = true;
                return Some(*now);
            }
            _ => {}
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
        no_schema: false,
        no_object: false,
    };
    const NEWER: Parameters = Parameters {
        max_completion_tokens: true,
        no_schema: false,
        no_object: false,
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
            assert_eq!(dialect.learn(OLDER, None, &limit), Some(NEWER));
        }
        assert_eq!(dialect.parameters(), NEWER);
        let format = refused("'response_format.type' must be 'json_schema'");
        let object = Some(Format::Object);
        let learned = dialect.learn(NEWER, object, &format).unwrap();
        assert!(learned.max_completion_tokens && learned.no_object && !learned.no_schema);
        assert_eq!(dialect.learn(learned, None, &format), None);
    }

    #[test]
    fn a_name_that_is_refused_too_is_reverted() {
        let dialect = Dialect::default();
        let older = refused("Unknown argument max_tokens");
        let newer = refused(r#"[{"loc": ["max_completion_tokens"], "type": "extra_forbidden"}]"#);
        assert_eq!(dialect.learn(OLDER, None, &older), Some(NEWER));
        assert_eq!(dialect.learn(NEWER, None, &newer), Some(OLDER));
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
            for format in [None, Some(Format::Object), Some(Format::Schema)] {
                let learned = dialect.learn(OLDER, format, &refused(message));
                assert_eq!(learned, None, "{message}");
            }
        }
        assert_eq!(dialect.parameters(), OLDER);
    }
}
