//! A run of the loop as what a traced function returns.

use super::{Outcome, ReflexionError};
use crate::{TraceOutput, TraceRecord, TraceResult, TraceReturn};

/// The answer for the caller; what is recorded is as for [`TraceOutput`].
impl From<Outcome> for TraceResult {
    fn from(outcome: Outcome) -> Self {
        Self::with(outcome.response(), TraceOutput::from(&outcome))
    }
}

/// What a [`Run`](super::Run) ends with, for callers who want all of it. An error is recorded as a
/// failed run, with what was done until then.
impl TraceReturn for Result<Outcome, ReflexionError> {
    type Output = Self;

    fn record(&self) -> TraceRecord {
        TraceRecord::Output(match self {
            Ok(outcome) => outcome.into(),
            Err(error) => error.into(),
        })
    }

    fn into_output(self) -> Self {
        self
    }
}
