//! Which errors say nothing about the run that they ended.

use std::error::Error as StdError;
use std::io;
use std::iter::successors;

use crate::error::Error;

/// Whether an error, or one that caused it, is likely to pass by itself: a time limit, a refused or lost
/// connection, a rate limit, a server that is overloaded or broken.
///
/// It knows [`std::io::Error`], the SDK's own [`Error`], and of others what they say: the status 408, 425,
/// 429 or 5xx as `reqwest` and other HTTP clients put it, the codes of OpenAI and Anthropic, and time
/// limits as those of `tokio`.
///
/// A run that such an error ends is recorded without a verdict, unless
/// [`auto_fail`](crate::TraceBuilder::auto_fail) says otherwise.
///
/// ```
/// use std::io;
///
/// let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
/// assert!(reflect_sdk::is_transient(&refused));
/// let wrong = anyhow::Error::from(refused).context("ask the model");
/// assert!(reflect_sdk::is_transient(wrong.as_ref()));
/// assert!(!reflect_sdk::is_transient(&"seven".parse::<i32>().unwrap_err()));
/// ```
pub fn is_transient(error: &(dyn StdError + 'static)) -> bool {
    successors(Some(error), |&error| error.source()).any(|error| {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            is_lost(error.kind()) || says_so(&error.to_string())
        } else if let Some(error) = error.downcast_ref::<Error>() {
            error.is_retryable()
        } else {
            says_so(&error.to_string())
        }
    })
}

/// Whether the text of an error says so.
pub(super) fn says_so(text: &str) -> bool {
    /// What only an error of a server says.
    const ANYWHERE: [&str; 19] = [
        "408 Request Timeout",
        "425 Too Early",
        "429 Too Many Requests",
        "500 Internal Server Error",
        "502 Bad Gateway",
        "503 Service Unavailable",
        "504 Gateway Timeout",
        // Of reqwest, for any status from 500.
        "HTTP status server error (",
        // A status without a name.
        "529 <unknown status code>",
        "rate_limit_exceeded",
        "rate_limit_error",
        "overloaded_error",
        // Of the SDK.
        "(429 rate_limited)",
        "(500 internal)",
        "(503 unavailable)",
        "(504 timeout)",
        "no reply in time (",
        "the server cannot be reached (",
        "the connection was lost (",
    ];
    /// What also a sentence could say: only the whole text of a cause counts.
    const WHOLE: [&str; 9] = [
        "timed out",
        "operation timed out",
        // Of tokio.
        "deadline has elapsed",
        "connection refused",
        "connection reset",
        "connection reset by peer",
        "connection aborted",
        "connection closed before message completed",
        "broken pipe",
    ];
    ANYWHERE.iter().any(|words| text.contains(words))
        || text.split(": ").any(|cause| {
            let (cause, code) = match cause.rsplit_once(" (os error ") {
                Some((cause, code)) => (cause, code.trim_end_matches(')').parse().ok()),
                None => (cause, None),
            };
            let kind = code.map(|code| io::Error::from_raw_os_error(code).kind());
            let cause = cause.trim_end_matches('.');
            // A limit of the SDK, such as `5s`.
            let limit = cause.rsplit_once(" took longer than ");
            let limit = limit.and_then(|(_, limit)| limit.strip_suffix('s'));
            let is_limit = limit.is_some_and(|limit| {
                limit.starts_with(|c: char| c.is_ascii_digit()) && !limit.contains(' ')
            });
            is_limit
                || kind.is_some_and(is_lost)
                || WHOLE.iter().any(|words| cause.eq_ignore_ascii_case(words))
        })
}

fn is_lost(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{
        BrokenPipe, ConnectionAborted, ConnectionRefused, ConnectionReset, HostUnreachable,
        NetworkDown, NetworkUnreachable, TimedOut,
    };
    matches!(
        kind,
        BrokenPipe
            | ConnectionAborted
            | ConnectionRefused
            | ConnectionReset
            | HostUnreachable
            | NetworkDown
            | NetworkUnreachable
            | TimedOut
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use reflect_types::{ErrorBody, ErrorCode};

    use super::*;

    #[test]
    fn an_error_of_the_sdk_is_known_by_its_text_too() {
        let codes = ErrorCode::KNOWN.iter().cloned();
        let refusals = codes.map(|code| Error::from(ErrorBody::new(code, "no")));
        let others = [
            Error::timeout("the call to Reflect", Duration::from_secs(5)),
            Error::Config("the name of the project is empty".to_owned()),
        ];
        for error in refusals.chain(others) {
            assert_eq!(says_so(&error.to_string()), error.is_retryable(), "{error}");
            assert_eq!(is_transient(&error), error.is_retryable(), "{error}");
        }
    }
}
