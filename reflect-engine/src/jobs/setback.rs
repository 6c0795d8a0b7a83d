//! The next attempt at a review whose ingestion failed.

use std::time::Duration;

use reflect_types::Backoff;

use crate::clock::later;
use crate::core::Core;
use crate::error::Error;
use crate::model;
use crate::review::{NextAttempt, Setback};

/// The number of attempts after which a review is given up.
pub(super) const MAX_ATTEMPTS: u32 = 5;

/// Failures that may pass, such as an outage of a model.
const RETRY: Backoff = Backoff {
    initial: Duration::from_secs(1),
    factor: 4,
    cap: Duration::from_secs(3_600),
    jitter: 0.5,
};
/// Failures of the settings, such as a wrong key, which a person has to correct.
const SETUP: Backoff = Backoff {
    initial: Duration::from_secs(600),
    factor: 2,
    cap: Duration::from_secs(2 * 3_600),
    jitter: 0.5,
};

/// What happens to a review after this number of attempts, the last of which failed with `error`.
pub(crate) fn setback(core: &Core, error: &Error, attempts: u32) -> Setback {
    let after = |delay| later(core.now(), delay);
    let next = match error {
        _ if attempts >= MAX_ATTEMPTS => NextAttempt::Never,
        // Reported as failed immediately, because a person has to correct it, and retried in case it
        // has been corrected.
        Error::Model(error) if model::is_setup(error) => {
            NextAttempt::FailedUntil(after(SETUP.delay(attempts, fastrand::f64())))
        }
        Error::Model(error) if !error.retryable => NextAttempt::Never,
        error => {
            let delay = RETRY.delay_or(attempts, fastrand::f64(), error.retry_after());
            NextAttempt::At(after(delay))
        }
    };
    Setback {
        error: error.to_string(),
        next,
        counts: true,
    }
}

/// The error of a job whose workers all died, with the remedy.
pub(super) fn given_up(attempts: u32, remedy: &str) -> Error {
    Error::bug(format!(
        "given up after {attempts} attempts: the process died during each. {remedy}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_is_given_up_says_after_how_many_attempts_and_what_to_do() {
        let error = given_up(4, "Review the trace yourself").to_string();
        assert!(error.contains("after 4 attempts"), "{error}");
        assert!(error.ends_with("Review the trace yourself"), "{error}");
    }
}
