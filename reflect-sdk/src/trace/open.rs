//! A run that has not ended yet, and what is recorded when it does.

use std::sync::Arc;
use std::time::Duration;

use reflect_types::{CreateTrace, Metadata, Review, TraceReceipt, Verdict};

use super::builder::OnCancel;
use super::context::TraceContext;
use super::handle::TraceHandle;
use super::output::TraceOutput;
use super::panics::{Mark, Panic};
use super::returns::Outcome;
use crate::client::Handle;
use crate::core::{Cause, Core};
use crate::error::Error;
use crate::outbox::PendingRun;

/// One run, from its start to its end. Whoever owns it must end it.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) client: Arc<Handle>,
    pub(super) context: TraceContext,
    pub(super) options: Options,
    pub(super) mark: Mark,
}

/// What was said about a run at its start.
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) blocking: Option<Duration>,
    pub(super) auto_fail: bool,
    pub(super) on_cancel: OnCancel,
    pub(super) reference_context: Option<String>,
    pub(super) alpha: Option<f64>,
    pub(super) model: Option<String>,
    pub(super) metadata: Metadata,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            blocking: None,
            auto_fail: true,
            on_cancel: OnCancel::default(),
            reference_context: None,
            alpha: None,
            model: None,
            metadata: Metadata::new(),
        }
    }
}

/// How a run ended.
#[derive(Debug)]
pub(super) enum Ending {
    Output(TraceOutput),
    Failed {
        why: Panic,
        output: Option<TraceOutput>,
    },
    Cancelled,
    Abandoned,
    Discarded,
}

impl From<Outcome> for Ending {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Output(output) => Self::Output(output),
            Outcome::Error(message) => Self::error(message, None),
            Outcome::Nothing => Self::Abandoned,
        }
    }
}

impl Ending {
    pub(super) fn error(message: String, output: Option<TraceOutput>) -> Self {
        let why = Panic {
            message,
            place: None,
            certain: true,
        };
        Self::Failed { why, output }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Output(_) => "output",
            Self::Failed { .. } => "failed",
            Self::Cancelled => "cancelled",
            Self::Abandoned => "abandoned",
            Self::Discarded => "discarded",
        }
    }
}

impl Open {
    pub(super) fn new(client: Arc<Handle>, context: TraceContext, options: Options) -> Self {
        let open = Self {
            client,
            context,
            options,
            mark: Mark::now(),
        };
        #[cfg(feature = "panic-hook")]
        super::rescue::watch(&open);
        open
    }

    /// A run of a disabled client, which looks for no panics.
    pub(super) fn idle(client: Arc<Handle>, context: TraceContext, options: Options) -> Self {
        Self {
            client,
            context,
            options,
            mark: Mark::default(),
        }
    }

    /// Ends the run. What is to be recorded is handed over; it is sent in the background.
    pub(super) fn end(self, ending: Ending) -> TraceHandle {
        let handle = self.context.handle();
        let core = self.client.core();
        let Some(delivery) = self.context.delivery() else {
            return handle;
        };
        #[cfg(feature = "panic-hook")]
        super::rescue::unwatch(&self);
        if !self.context.end() {
            return handle;
        }
        self.note_in_span(&ending);
        match &ending {
            Ending::Abandoned => core.counters.abandoned.add_one(),
            Ending::Discarded => core.counters.discarded.add_one(),
            _ => {}
        }
        match conclude(&self.context, self.options.clone(), ending) {
            Ok(trace) => {
                let run = PendingRun::new(
                    Arc::clone(core),
                    trace,
                    Arc::clone(delivery),
                    self.options.blocking,
                );
                self.client.submit(run);
            }
            Err(why) => {
                tracing::debug!(target: "reflect", run_id = self.context.run_id(), "{why}");
                let why = Error::NotRecorded(why.to_owned());
                delivery.settle(Err(why));
            }
        }
        handle
    }

    /// Holds up the thread until the delivery is known, where that was asked for.
    pub(super) fn wait_if_blocking(
        client: &Handle,
        blocking: Option<Duration>,
        handle: &TraceHandle,
    ) {
        let Some(limit) = blocking else { return };
        let core = client.core();
        if !core.is_enabled() || core.worker().is_this_thread() {
            return;
        }
        if tokio::runtime::Handle::try_current().is_ok() {
            core.notices.warn(
                Cause::HeldUpRuntime,
                "a blocking run ends on a thread of an async runtime, and holds up the other tasks \
                 there until its memory exists: end a guard with `finish().await`, and make a \
                 closure or a function async",
            );
        }
        warn_if_late(core, handle.wait_blocking(limit));
    }

    /// The same without holding up the thread.
    pub(super) async fn wait(client: &Handle, limit: Duration, handle: &TraceHandle) {
        let waited = handle.wait_within(client, limit).await;
        warn_if_late(client.core(), waited);
    }

    fn note_in_span(&self, ending: &Ending) {
        let Some(span) = self.context.span() else {
            return;
        };
        span.record("outcome", ending.name());
        if let Ending::Failed { why, .. } = ending {
            span.record("otel.status_code", "ERROR");
            span.record("otel.status_description", why.message.as_str());
        }
    }
}

/// Everything else that can go wrong is told of by the worker, who notices it first.
fn warn_if_late(core: &Core, waited: Result<TraceReceipt, Error>) {
    if let Err(error @ Error::Timeout { .. }) = waited {
        let what = format!("a blocking run does not wait any longer: {error}");
        core.notices.warn(Cause::Learning, what);
    }
}

/// What is recorded of a run that ended like this; the error says why nothing is.
fn conclude(
    context: &TraceContext,
    options: Options,
    ending: Ending,
) -> Result<CreateTrace, &'static str> {
    let output = match ending {
        Ending::Output(output) => output,
        Ending::Failed { .. } if !options.auto_fail => {
            return Err("it failed, and `auto_fail` is off");
        }
        Ending::Failed { why, output } => failed(why, output.unwrap_or_default()),
        Ending::Cancelled => match options.on_cancel {
            OnCancel::Record => cancelled(),
            OnCancel::Fail => cancelled().fail("the run was cancelled before it was done"),
            OnCancel::Skip => return Err("it was cancelled"),
        },
        Ending::Abandoned => return Err("it ended without output"),
        Ending::Discarded => return Err("it was discarded"),
    };
    Ok(trace(context, options, output))
}

fn failed(why: Panic, mut output: TraceOutput) -> TraceOutput {
    output.verdict = Some(Verdict::Fail);
    if output.feedback.as_ref().is_none_or(String::is_empty) {
        output.feedback = Some(why.message);
    }
    if let Some(place) = why.place {
        output = output.metadata("panicked_at", place);
    }
    if !why.certain {
        output = output.metadata("panic_certain", false);
    }
    output
}

fn cancelled() -> TraceOutput {
    TraceOutput::recorded().metadata("outcome", "cancelled")
}

fn trace(context: &TraceContext, options: Options, output: TraceOutput) -> CreateTrace {
    let mut metadata = options.metadata;
    if let Some(parent) = context.parent() {
        metadata.insert("parent_run_id".to_owned(), parent.run_id().into());
    }
    if context.parent().is_some() || context.has_children() {
        metadata.insert("run_id".to_owned(), context.run_id().into());
    }
    metadata.extend(output.metadata);
    let alpha = output.alpha.or(options.alpha);
    CreateTrace {
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
            reflection: output.reflection.map(|reflection| *reflection),
            ..Review::new(result)
        }),
        idempotency_key: Some(context.run_id().to_owned()),
    }
}
