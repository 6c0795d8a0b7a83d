//! The end of a run, and the trace it leaves.

use reflect_types::{CreateTrace, Review, Reviewer, Verdict};

use super::context::TraceContext;
use super::options::{OnCancel, Options};
use super::output::TraceOutput;
use super::panic_hook::Panic;
use super::returns::TraceRecord;
use super::user_code::PanickedOption;

/// How a run ended.
#[derive(Debug)]
pub(super) enum Ending {
    Output(TraceOutput),
    Failed {
        cause: Panic,
        output: Option<TraceOutput>,
    },
    Cancelled,
    Abandoned,
    Discarded,
}

impl From<TraceRecord> for Ending {
    fn from(record: TraceRecord) -> Self {
        match record {
            TraceRecord::Output(output) => Self::Output(output),
            TraceRecord::Error(message) => Self::error(message, None),
            TraceRecord::Nothing => Self::Abandoned,
        }
    }
}

impl Ending {
    pub(super) fn error(message: String, output: Option<TraceOutput>) -> Self {
        let cause = Panic {
            message,
            location: None,
        };
        Self::Failed { cause, output }
    }

    /// The options of the output whose values panicked.
    pub(super) fn panicked_options(&self) -> &[PanickedOption] {
        let output = match self {
            Self::Output(output) => Some(output),
            Self::Failed { output, .. } => output.as_ref(),
            Self::Cancelled | Self::Abandoned | Self::Discarded => None,
        };
        let panicked = output.and_then(|output| output.panicked.as_deref());
        panicked.map_or(&[], |panicked| &panicked.0)
    }

    /// The value of `outcome` in the run's span.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Output(_) => "output",
            Self::Failed { .. } => "failed",
            Self::Cancelled => "cancelled",
            Self::Abandoned => "abandoned",
            Self::Discarded => "discarded",
        }
    }

    /// The trace of a run that ended like this, or the reason why there is none.
    pub(super) fn into_trace(
        self,
        context: &TraceContext,
        options: Options,
    ) -> Result<CreateTrace, &'static str> {
        let output = match self {
            Self::Output(output) => output,
            Self::Failed { .. } if !options.auto_fail => {
                return Err("it failed, and `auto_fail` is off");
            }
            Self::Failed { cause, output } => failed(cause, output.unwrap_or_default()),
            Self::Cancelled => match options.on_cancel {
                OnCancel::Record => cancelled(),
                OnCancel::Fail => cancelled().fail("the run was cancelled before it was done"),
                OnCancel::Skip => return Err("it was cancelled"),
            },
            Self::Abandoned => return Err("it ended without output"),
            Self::Discarded => return Err("it was discarded"),
        };
        Ok(trace(context, options, output))
    }
}

fn failed(cause: Panic, mut output: TraceOutput) -> TraceOutput {
    output.verdict = Some(Verdict::Fail);
    // A model that gave another verdict did not see the panic.
    output.reviewer = Reviewer::Human;
    if output.feedback.as_ref().is_none_or(String::is_empty) {
        output.feedback = Some(cause.message);
    }
    match cause.location {
        Some(location) => output.metadata("panicked_at", location),
        None => output,
    }
}

fn cancelled() -> TraceOutput {
    TraceOutput::recorded().metadata("outcome", "cancelled")
}

fn trace(context: &TraceContext, options: Options, output: TraceOutput) -> CreateTrace {
    #[cfg(feature = "tracing")]
    let is_told = super::heard::is_told(context, &output);
    let mut metadata = options.metadata;
    if let Some(parent) = context.parent() {
        metadata.insert("parent_run_id".to_owned(), parent.run_id().into());
    }
    if context.parent().is_some() || context.has_children() {
        metadata.insert("run_id".to_owned(), context.run_id().into());
    }
    metadata.extend(output.metadata);
    let alpha = output.alpha.or(options.alpha);
    let trace = CreateTrace {
        task: output.task.unwrap_or_else(|| context.task().to_owned()),
        trajectory: output.trajectory.unwrap_or_else(|| context.take_recorded()),
        retrieved_memory_ids: context.memory_ids(),
        model: output.model.or(options.model),
        metadata,
        final_response: output.final_response,
        reference_context: options.reference_context,
        review: output.verdict.map(|result| Review {
            feedback_text: output.feedback,
            alpha,
            reviewer: output.reviewer,
            reflection: output.reflection.map(|reflection| *reflection),
            ..Review::new(result)
        }),
        arm: context.arm().cloned(),
        idempotency_key: Some(context.run_id().to_owned()),
    };
    #[cfg(feature = "tracing")]
    let trace = super::heard::completed(trace, context, is_told);
    trace
}
