//! A run of the loop inside a traced function.

use reflect_sdk::{TraceContext, TraceOutput, TraceResult, TraceReturn};

use super::record::Record;
use crate::error::ReflexionError;
use crate::outcome::Outcome;
use crate::reflexion::Run;
use crate::trajectory::Task;

/// The trace's task, with its memories appended in the prompt.
impl From<&TraceContext> for Task {
    fn from(context: &TraceContext) -> Self {
        Task::new(context.task()).prompt(context.augmented_task())
    }
}

/// The trace's task, with its memories appended in the prompt.
impl From<TraceContext> for Task {
    fn from(context: TraceContext) -> Self {
        (&context).into()
    }
}

/// The output for [`TraceGuard::set_output`](reflect_sdk::TraceGuard::set_output): the messages of
/// the last trial, the verdict on the run, the last feedback and the reflections.
impl From<&Outcome> for TraceOutput {
    fn from(outcome: &Outcome) -> Self {
        Record::of_run(outcome).into_output()
    }
}

/// The messages of the last trial and its verdict, or, if it has none, the error as that of a failed run.
impl From<&ReflexionError> for TraceOutput {
    fn from(error: &ReflexionError) -> Self {
        Record::of_error(error).into_output()
    }
}

/// The answer for the caller, with the record of [`TraceOutput`].
impl From<Outcome> for TraceResult {
    fn from(outcome: Outcome) -> Self {
        Self::with(outcome.response(), TraceOutput::from(&outcome))
    }
}

/// The whole outcome for the caller, with the record of [`TraceOutput`].
impl TraceReturn for Outcome {
    type Output = Self;

    fn record(&self) -> reflect_sdk::TraceRecord {
        reflect_sdk::TraceRecord::Output(self.into())
    }

    fn into_output(self) -> Self {
        self
    }
}

impl Run {
    /// The run as the return value of a traced function: an error is recorded with the trials
    /// before it, not only with its text.
    ///
    /// ```
    /// # use reflect_sdk::ReflectClient;
    /// # use reflexion::{Attempt, BoxError, Reflexion};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), BoxError> {
    /// # let client = ReflectClient::disabled();
    /// # let reflexion = Reflexion::builder(|attempt: Attempt| async move { attempt.prompt })
    /// #     .evaluate_with(|_| true).max_trials(1).build()?;
    /// let trace = client.trace("Refund order 7").limit(5);
    /// let outcome = trace.run_async(|ctx| reflexion.run(ctx).traced()).await?;
    /// assert!(outcome.succeeded());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn traced(self) -> TracedOutcome {
        TracedOutcome(self.await)
    }
}

/// The result of a run as the return value of a traced function; see [`Run::traced`].
#[derive(Debug)]
pub struct TracedOutcome(pub Result<Outcome, ReflexionError>);

impl TraceReturn for TracedOutcome {
    type Output = Result<Outcome, ReflexionError>;

    fn record(&self) -> reflect_sdk::TraceRecord {
        reflect_sdk::TraceRecord::Output(match &self.0 {
            Ok(outcome) => outcome.into(),
            Err(error) => error.into(),
        })
    }

    fn into_output(self) -> Self::Output {
        self.0
    }
}
