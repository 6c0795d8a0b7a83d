//! A run that has started and not ended.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Duration;

use reflect_types::TraceReceipt;

use super::context::TraceContext;
use super::ending::Ending;
use super::handle::TraceHandle;
use super::options::Options;
use super::panic_hook::{Mark, Panic, survive};
#[cfg(feature = "panic-hook")]
use super::rescue;
use super::returns::{TraceRecord, TraceReturn};
use super::user_code::{report, value_of};
use crate::client::Handle;
use crate::core::{Cause, Core};
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
        let client = Arc::clone(&self.client);
        let handle = self.end(record(value).into());
        value_of(client.core(), "attach", || value.attach(&handle));
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
        if self.context.is_idle() {
            return run_idle(self.context, body);
        }
        let context = self.context.clone();
        let scope = context.enter();
        let ended = catch_unwind(AssertUnwindSafe(|| body(context.clone())));
        drop(scope);
        match ended {
            Ok(mut value) => {
                let (client, blocking) = (Arc::clone(&self.client), self.options.blocking);
                let handle = self.end_with(&mut value);
                wait_if_blocking(&client, blocking, &handle);
                value
            }
            Err(payload) => {
                self.end_panicked(&*payload);
                resume_unwind(payload)
            }
        }
    }
}

/// Runs the closure as a run of a disabled client.
pub(super) fn run_idle<R: TraceReturn>(
    context: TraceContext,
    body: impl FnOnce(TraceContext) -> R,
) -> R {
    let scope = context.enter();
    let mut value = body(context);
    drop(scope);
    value.attach(TraceHandle::disabled());
    value
}

/// Lets the panic hook end the run where a panic ends the process.
#[cfg(feature = "panic-hook")]
fn watch(client: &Arc<Handle>, context: &TraceContext, options: &Options) {
    rescue::install();
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
    for panicked in ending.panicked_options() {
        report(core, panicked);
    }
    match &ending {
        Ending::Abandoned => core.counters.abandoned.add_one(),
        Ending::Discarded => core.counters.discarded.add_one(),
        _ => {}
    }
    let blocking = options.blocking;
    match ending.into_trace(context, options) {
        Ok(trace) => {
            let run = PendingRun::new(Arc::clone(core), trace, Arc::clone(delivery), blocking);
            client.submit(run);
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

/// The feedback of a run whose error panics when it is formatted.
pub(super) const UNSHOWN: &str = "an error that cannot be shown";

/// The record of the value. Formatting an error is user code, and may panic.
fn record(value: &impl TraceReturn) -> TraceRecord {
    survive(|| value.record()).unwrap_or_else(|_| TraceRecord::Error(UNSHOWN.to_owned()))
}

/// Blocks the thread until the delivery of a blocking run is known.
pub(super) fn wait_if_blocking(client: &Handle, blocking: Option<Duration>, handle: &TraceHandle) {
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

/// Waits until the delivery of a blocking run is known.
pub(super) async fn wait(client: &Handle, limit: Duration, handle: &TraceHandle) {
    let waited = handle.wait_within(client, limit).await;
    warn_if_late(client.core(), waited);
}

/// Reports a wait that timed out. The worker reports all other errors.
fn warn_if_late(core: &Core, waited: Result<TraceReceipt, Error>) {
    if let Err(error @ Error::Timeout { .. }) = waited {
        let text = format!("a blocking run stops waiting for its memory: {error}");
        core.notices.warn(Cause::Learning, text);
    }
}
