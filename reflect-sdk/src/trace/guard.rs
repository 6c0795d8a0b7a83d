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
/// dropped anywhere; dropping it hands the run over and returns, unless
/// [`blocking`](super::TraceBuilder::blocking) was asked for.
///
/// A guard cannot tell whose panic unwinds it: in a `join!`, that of a sibling looks like its own.
/// The closure of [`run_async`](super::TraceBuilder::run_async) can. And it knows the message of a
/// panic from the panic hook, which [`resume_unwind`](std::panic::resume_unwind) passes by: if a panic
/// was handled, and the guard has not been used since, such an unwinding is taken for that panic.
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
