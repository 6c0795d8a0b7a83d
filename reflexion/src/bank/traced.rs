//! A run of the loop as what a traced function returns.

use super::{Outcome, ReflexionError};
use crate::{TraceOutput, TraceResult, TraceReturn, trace};

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

    fn outcome(&self) -> trace::Outcome {
        trace::Outcome::Output(match self {
            Ok(outcome) => outcome.into(),
            Err(error) => error.into(),
        })
    }

    fn into_output(self) -> Self {
        self
    }
}
