use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::Duration;

use reflect_types::{Memory, MemoryId, Message, TraceReceipt};

use super::context::{Said, TraceContext};
use super::handle::TraceHandle;
use super::open::{Ending, Open};
use super::output::TraceOutput;
use crate::error::{Error, Result};

/// A run in progress, which submits itself when it is dropped.
///
/// - With an output it is recorded.
/// - Unwinding from a panic, it is recorded as failed, with the panic's message as feedback.
/// - Otherwise it said nothing, and nothing is sent.
///
/// It can be sent, shared between branches of a `join!`, kept in a struct, held across `.await` and
/// dropped anywhere. Dropping it hands the run over, which takes some microseconds, except:
///
/// - with a [spool](crate::ClientBuilder::spool) it writes the run to disk;
/// - where the [queue](crate::ClientBuilder::queue) is full, and there is no spool, it waits for
///   room, for up to 1 s unless set otherwise;
/// - as the last handle of its client it waits until what is pending is sent, for up to the
///   [`shutdown_timeout`](crate::ClientBuilder::shutdown_timeout), 5 s unless set;
/// - if it is [`blocking`](super::TraceBuilder::blocking) it waits for the memory.
///
/// # Whose panic it is
///
/// A guard learns that its thread unwinds, but not from which panic: it tells the last one that the
/// panic hook has seen on the thread. In a `join!`, that of a sibling looks like its own. And what
/// [`resume_unwind`](std::panic::resume_unwind) starts is seen by no hook: it is taken for a panic
/// that was handled before, if nothing of a run was used on the thread in between. The metadata of
/// such a trace therefore has `panic_certain: false`, beside the place in `panicked_at`. The closures
/// of [`run`](super::TraceBuilder::run) and [`run_async`](super::TraceBuilder::run_async), and traced
/// functions, are certain.
///
/// Where panics abort, the run is recorded by the hook, if the panic is on the thread that used the
/// guard last.
#[derive(Debug)]
#[must_use = "the run ends when the guard is dropped: keep it for as long as the run takes"]
pub struct TraceGuard {
    /// `None` once it has ended.
    open: Option<Open>,
    context: TraceContext,
}

/// While the thread unwinds, a blocking run must not hold it up for long.
const UNWINDING_LIMIT: Duration = Duration::from_secs(2);

impl TraceGuard {
    pub(super) fn new(open: Open) -> Self {
        #[cfg(feature = "panic-hook")]
        super::rescue::watch_thread(&open);
        Self {
            context: open.context.clone(),
            open: Some(open),
        }
    }

    /// What the agent was asked to do, without the memories.
    pub fn task(&self) -> &str {
        self.renew();
        self.context.task()
    }

    /// The task with its memories put behind it, ready for a prompt; the task alone where there are
    /// none.
    pub fn augmented_task(&self) -> &str {
        self.renew();
        self.context.augmented_task()
    }

    /// The memories that were found, best first.
    pub fn memories(&self) -> &[Memory] {
        self.renew();
        self.context.memories()
    }

    /// Their ids, in the same order.
    pub fn memory_ids(&self) -> Vec<MemoryId> {
        self.renew();
        self.context.memory_ids()
    }

    /// Why there are no memories, where they could not be asked for, or did not come in time.
    pub fn retrieval_error(&self) -> Option<&Error> {
        self.renew();
        self.context.retrieval_error()
    }

    /// Notes a step of the run as it goes; see [`TraceContext::record`].
    pub fn record(&self, message: Message) {
        self.context.record(message);
        self.renew();
    }

    /// Says what the run came to. A later call replaces an earlier one, but its task and alpha
    /// stay unless given again.
    pub fn set_output(&self, mut output: TraceOutput) {
        if self.context.has_ended() {
            // By the panic hook, which took a panic on this thread for the end of the process.
            let run_id = self.context.run_id();
            tracing::debug!(target: "reflect", run_id, "an output came after the end of its run");
        }
        self.context.say(|said| {
            if let Some(before) = said.output.take() {
                output.task = output.task.take().or(before.task);
                output.alpha = output.alpha.or(before.alpha);
            }
            *said = Said {
                output: Some(output),
                error: None,
            };
        });
        self.renew();
    }

    /// Hands the result through, and if it is an error, says that the run failed with it.
    ///
    /// ```no_run
    /// # async fn run(client: reflect_sdk::ReflectClient) -> Result<(), std::num::ParseIntError> {
    /// let run = client.trace("Add the numbers").await;
    /// let number: i32 = run.fail_on_err("seven".parse())?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn fail_on_err<T, E: Display>(&self, result: Result<T, E>) -> Result<T, E> {
        if let Err(error) = &result {
            let text = catch_unwind(AssertUnwindSafe(|| error.to_string()));
            let text = text.unwrap_or_else(|_| "an error that cannot be shown".to_owned());
            self.context.say(|said| said.error = Some(text));
        }
        self.renew();
        result
    }

    /// Tells what becomes of the run, also after the guard is gone.
    pub fn handle(&self) -> TraceHandle {
        self.renew();
        self.context.handle()
    }

    /// The run as the code within it sees it. The guard itself enters no scope: use
    /// [`in_scope`](TraceContext::in_scope) or [`scope`](TraceContext::scope) of this.
    pub fn context(&self) -> &TraceContext {
        self.renew();
        &self.context
    }

    /// Ends the run and waits until it is stored, or, for a blocking one, until its memory exists.
    ///
    /// The run is handed over at once: if the wait is given up, it is sent all the same.
    pub async fn finish(mut self) -> Result<TraceReceipt> {
        let blocking = self.open.as_ref().and_then(|open| open.options.blocking);
        let client = self.open.as_ref().map(|open| open.client.clone());
        let handle = self.end();
        match (blocking, client) {
            (Some(limit), Some(client)) => handle.wait_within(&client, limit).await,
            _ => handle.wait().await,
        }
    }

    /// The same for code that is not async, at most for `limit`.
    pub fn finish_blocking(mut self, limit: Duration) -> Result<TraceReceipt> {
        if let Some(open) = &self.open {
            let core = open.client.core();
            if core.is_enabled() && core.worker().is_this_thread() {
                self.end();
                return Err(Error::WouldDeadlock);
            }
        }
        self.end().wait_blocking(limit)
    }

    /// Ends the run and queues its trace, without waiting for it, even if the run is blocking.
    pub fn submit(mut self) -> TraceHandle {
        self.end()
    }

    /// Ends the run without a trace of it.
    pub fn discard(mut self) {
        if let Some(open) = self.open.take() {
            open.end(Ending::Discarded);
        }
    }

    fn end(&mut self) -> TraceHandle {
        let Said { output, error } = self.context.take_said();
        let Some(open) = self.open.take() else {
            return self.context.handle();
        };
        let ending = match (open.mark.panic(), error, output) {
            (Some(why), _, output) => Ending::Failed { why, output },
            (None, Some(error), output) => Ending::error(error, output),
            (None, None, Some(output)) => Ending::Output(output),
            (None, None, None) => Ending::Abandoned,
        };
        open.end(ending)
    }

    /// Whoever uses the guard shows that the panics before are over.
    fn renew(&self) {
        if let Some(open) = &self.open {
            open.mark.renew();
            #[cfg(feature = "panic-hook")]
            super::rescue::watch_thread(open);
        }
    }
}

impl Drop for TraceGuard {
    fn drop(&mut self) {
        let Some(open) = &self.open else { return };
        let (client, mut blocking) = (open.client.clone(), open.options.blocking);
        if thread::panicking() {
            blocking = blocking.map(|limit| limit.min(UNWINDING_LIMIT));
        }
        let handle = self.end();
        Open::wait_if_blocking(&client, blocking, &handle);
    }
}
