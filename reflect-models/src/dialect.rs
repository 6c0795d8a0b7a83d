//! How a server wants to be spoken to, learned from what it refuses.

use std::sync::{Mutex, PoisonError};

use crate::error::Error;

/// What is known of a server so far.
#[derive(Debug, Default)]
pub(crate) struct Dialect(Mutex<Words>);

/// How one request is put.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Words {
    /// The token limit goes by its newer name.
    pub(crate) newer_limit: bool,
    /// The server cannot be told to answer in JSON.
    pub(crate) no_format: bool,
}

impl Dialect {
    /// Begins with these words.
    pub(crate) fn of(words: Words) -> Self {
        Self(Mutex::new(words))
    }

    /// The words that are in use now.
    pub(crate) fn words(&self) -> Words {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Learns from a refusal of a request that was put in these words; the words to try next, which
    /// somebody else may have found meanwhile. `None` where words are not what is wrong.
    pub(crate) fn learn(&self, used: Words, error: &Error) -> Option<Words> {
        let Error::Refused {
            status: 400 | 422,
            message,
            ..
        } = error
        else {
            return None;
        };
        let message = message.to_ascii_lowercase();
        let limit = if used.newer_limit {
            "max_completion_tokens"
        } else {
            "max_tokens"
        };
        let mut now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if is_unknown(&message) && message.contains(limit) {
            now.newer_limit = !used.newer_limit;
            return Some(*now);
        }
        let format = message.contains("response_format") || message.contains("json_object");
        // Some know the parameter, and no JSON without a schema.
        if !used.no_format && format && (is_unknown(&message) || message.contains("must be")) {
            now.no_format = true;
            return Some(*now);
        }
        None
    }
}

/// Whether a refusal is about a parameter as such, and not about its value: a limit that is too large
/// is as large by another name.
fn is_unknown(message: &str) -> bool {
    const OF_THE_NAME: [&str; 11] = [
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
    const OF_THE_VALUE: [&str; 6] = [
        "too large",
        "too long",
        "too many",
        "context",
        "at most",
        "exceed",
    ];
    let has = |words: &[&str]| words.iter().any(|word| message.contains(word));
    has(&OF_THE_NAME) && !has(&OF_THE_VALUE)
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

    const OLDER: Words = Words {
        newer_limit: false,
        no_format: false,
    };
    const NEWER: Words = Words {
        newer_limit: true,
        no_format: false,
    };

    #[test]
    fn everyone_who_was_refused_learns_the_same() {
        let dialect = Dialect::default();
        let limit = refused(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use \
             'max_completion_tokens' instead.",
        );
        // All were under way before the first was refused.
        for _ in 0..8 {
            assert_eq!(dialect.learn(OLDER, &limit), Some(NEWER));
        }
        assert_eq!(dialect.words(), NEWER);
        let format = refused("'response_format.type' must be 'json_schema'");
        let learned = dialect.learn(NEWER, &format).unwrap();
        assert!(learned.newer_limit && learned.no_format);
        assert_eq!(dialect.learn(learned, &format), None);
    }

    #[test]
    fn a_name_that_turns_out_wrong_is_given_up_again() {
        let dialect = Dialect::default();
        let older = refused("Unknown argument max_tokens");
        let newer = refused(r#"[{"loc": ["max_completion_tokens"], "type": "extra_forbidden"}]"#);
        assert_eq!(dialect.learn(OLDER, &older), Some(NEWER));
        assert_eq!(dialect.learn(NEWER, &newer), Some(OLDER));
        assert_eq!(dialect.words(), OLDER);
    }

    #[test]
    fn what_is_wrong_with_a_value_teaches_no_words() {
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
        assert_eq!(dialect.words(), OLDER);
    }
}
