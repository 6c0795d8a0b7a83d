//! A run from its start to the trace that it leaves.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Duration;

use reflect_types::{CreateTrace, Review, Reviewer, TraceReceipt, Verdict};

use super::builder::{OnCancel, Options};
use super::context::TraceContext;
use super::handle::TraceHandle;
use super::output::{TraceOutput, TraceRecord, TraceReturn};
#[cfg(feature = "panic-hook")]
use super::panics::rescue;
use super::panics::{Mark, Panic};
use crate::client::Handle;
use crate::core::{Cause, Core, on_runtime};
use crate::error::Error;
use crate::outbox::PendingRun;

/// An open run. Its owner must end it.
#[derive(Debug)]
pub struct OpenRun {
    pub(super) client: Arc<Handle>,
    pub(super) context: TraceContext,
    pub(super) options: Options,
    pub(super) mark: Mark,
}

impl OpenRun {
    pub(super) fn new(client: Arc<Handle>, context: TraceContext, options: Options) -> Self {
        #[cfg(feature = "panic-hook")]
        watch(&client, &context, &options);
        Self {
            client,
            context,
            options,
            mark: Mark::now(),
        }
    }

    /// A run of a disabled client. It watches for no panics.
    pub(super) fn idle(client: Arc<Handle>, context: TraceContext, options: Options) -> Self {
        Self {
            client,
            context,
            options,
            mark: Mark::default(),
        }
    }

    /// Ends the run and queues its trace.
    pub(super) fn end(self, ending: Ending) -> TraceHandle {
        #[cfg(feature = "panic-hook")]
        if self.client.core().settings.flush_on_panic {
            rescue::unwatch(self.context.run_id());
        }
        end(&self.client, &self.context, self.options, ending);
        self.context.handle()
    }

    /// Ends the run with the value that its body returned.
    pub(super) fn end_with(self, value: &mut impl TraceReturn) -> TraceHandle {
        let handle = if self.context.is_idle() {
            self.context.handle()
        } else {
            self.end(value.record().into())
        };
        value.attach(&handle);
        handle
    }

    /// Ends the run with the panic of its body.
    pub(super) fn end_panicked(self, payload: &(dyn Any + Send)) {
        let cause = Panic::caught(payload, &self.mark);
        self.end(Ending::Failed {
            cause,
            output: None,
        });
    }

    /// Runs the closure as this run.
    pub(super) fn run<R: TraceReturn>(self, body: impl FnOnce(TraceContext) -> R) -> R {
        let context = self.context.clone();
        let scope = context.enter();
        let ended = catch_unwind(AssertUnwindSafe(|| body(context.clone())));
        drop(scope);
        match ended {
            Ok(mut value) => {
                let (client, limit) = (Arc::clone(&self.client), self.options.until_learned);
                let handle = self.end_with(&mut value);
                wait_until_learned(&client, limit, &handle);
                value
            }
            Err(payload) => {
                self.end_panicked(&*payload);
                resume_unwind(payload)
            }
        }
    }
}

/// Lets the panic hook end the run where a panic ends the process.
#[cfg(feature = "panic-hook")]
fn watch(client: &Arc<Handle>, context: &TraceContext, options: &Options) {
    if !client.core().settings.flush_on_panic {
        return;
    }
    let client = Arc::downgrade(client);
    let (run, options) = (context.clone(), options.clone());
    rescue::watch(context.run_id(), move |cause| {
        if let Some(client) = client.upgrade() {
            let output = run.take_conclusion().output;
            end(&client, &run, options, Ending::Failed { cause, output });
        }
    });
}

fn end(client: &Handle, context: &TraceContext, options: Options, ending: Ending) {
    let core = client.core();
    let Some(delivery) = context.delivery() else {
        return;
    };
    if !context.end() {
        return;
    }
    note_in_span(context, &ending);
    match &ending {
        Ending::Abandoned => core.counters.abandoned.add_one(),
        Ending::Discarded => core.counters.discarded.add_one(),
        _ => {}
    }
    let limit = options.until_learned;
    match ending.into_trace(context, options) {
        Ok(_) if !core.settings.samples(context.outermost().run_id()) => {
            core.counters.withheld.add_one();
            let reason = "it is not in the sample".to_owned();
            delivery.settle(Err(Error::NotRecorded(reason)));
        }
        Ok(trace) => {
            let run = PendingRun::new(Arc::clone(core), trace, Arc::clone(delivery), limit);
            client.outbox().submit(run);
        }
        Err(reason) => {
            tracing::debug!(target: "reflect", run_id = context.run_id(), "{reason}");
            delivery.settle(Err(Error::NotRecorded(reason.to_owned())));
        }
    }
}

fn note_in_span(context: &TraceContext, ending: &Ending) {
    let Some(span) = context.span() else { return };
    span.record("outcome", ending.name());
    if let Ending::Failed { cause, .. } = ending {
        span.record("otel.status_code", "ERROR");
        span.record("otel.status_description", cause.message.as_str());
    }
}

/// Blocks the thread until the memory of a run exists, if it waits for that.
pub(super) fn wait_until_learned(client: &Handle, limit: Option<Duration>, handle: &TraceHandle) {
    let Some(limit) = limit else { return };
    let core = client.core();
    if !core.is_enabled() || core.worker().is_this_thread() {
        return;
    }
    if on_runtime() {
        core.notices.warn(
            Cause::HeldUpRuntime,
            "a run that waits for its memory ends on a thread of an async runtime, and holds up the other tasks \
             there until its memory exists: end a guard with `finish().await`, and make a \
             closure or a function async",
        );
    }
    warn_if_late(core, handle.wait_blocking(limit));
}

/// Waits until the memory of a run exists.
pub(super) async fn wait(client: &Handle, limit: Duration, handle: &TraceHandle) {
    let waited = handle.wait_within(client, limit).await;
    warn_if_late(client.core(), waited);
}

/// Reports a wait that timed out. The worker reports all other errors.
fn warn_if_late(core: &Core, waited: Result<TraceReceipt, Error>) {
    if let Err(error @ Error::Timeout { .. }) = waited {
        let text = format!("a run stops waiting for its memory: {error}");
        core.notices.warn(Cause::Learning, text);
    }
}

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
            Self::Failed { .. } if options.ignores_failures => {
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
    let has_trajectory = super::framework_spans::has_trajectory(context, &output);
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
    let trace = super::framework_spans::completed(trace, context, has_trajectory);
    trace
}
