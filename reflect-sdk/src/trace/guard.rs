use std::fmt::Display;
use std::ops::Deref;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use reflect_types::{Message, TraceReceipt};

use super::context::{Conclusion, TraceContext};
use super::handle::TraceHandle;
use super::output::TraceOutput;
use super::run::{Ending, OpenRun, wait_until_learned};
use crate::error::{Error, Result};

/// A run in progress, submitted when the guard is dropped.
///
/// - With an [output](Self::set_output), the run is recorded.
/// - If a panic unwinds the thread, it is recorded as failed, with the panic's message as feedback.
/// - Otherwise nothing is sent.
///
/// ```no_run
/// use reflect_sdk::{ReflectClient, TraceOutput};
///
/// async fn refund(client: &ReflectClient) -> Result<String, String> {
///     let run = client.trace("Refund order 7").limit(3).await;
///     let reply = run.fail_on_err(my_agent(run.augmented_task()).await)?;
///     run.set_output(TraceOutput::new(reply.as_str()).pass());
///     Ok(reply)
/// }
///
/// async fn my_agent(task: &str) -> Result<String, String> {
///     Ok(task.to_uppercase())
/// }
/// ```
///
/// # Early returns
///
/// The guard does not see an `Err` that leaves its scope: **a `?` after `set_output(….pass())` is
/// recorded as a pass**, and one before it sends nothing. Set the output last and hand results
/// through [`fail_on_err`](Self::fail_on_err), or use [`run`](super::TraceBuilder::run) or
/// [`run_async`](super::TraceBuilder::run_async), which record every `Err` as a failed run:
///
/// ```no_run
/// use reflect_sdk::{ReflectClient, TraceResult};
///
/// async fn refund(client: &ReflectClient) -> Result<String, String> {
///     let run = client.trace("Refund order 7").limit(3);
///     run.run_async(async |ctx| {
///         let reply = my_agent(ctx.augmented_task()).await?;
///         check(&reply)?;
///         Ok(TraceResult::from(reply).pass())
///     })
///     .await
/// }
///
/// async fn my_agent(task: &str) -> Result<String, String> {
///     Ok(task.to_uppercase())
/// }
///
/// fn check(reply: &str) -> Result<(), String> {
///     if reply.is_empty() { Err("empty reply".to_owned()) } else { Ok(()) }
/// }
/// ```
///
/// # Dropping
///
/// A guard is `Send` and `Sync`: share it between the branches of a `join!`, store it, hold it across
/// `.await`, drop it on any thread. Dropping it queues the run, which takes microseconds, except that
///
/// - if it is to wait [until the memory exists](super::TraceBuilder::until_learned), it does;
/// - on a thread outside of a runtime, as the last handle of its client, it waits until pending runs are sent, for
///   up to the [`shutdown_timeout`](crate::ClientBuilder::shutdown_timeout), and with a full
///   [queue](crate::ClientBuilder::queue) as long as [`Overflow::Block`](crate::Overflow::Block) says.
///
/// # The recorded panic
///
/// A guard records the last panic that the hook has seen on its thread. That can be another one: a
/// sibling's in a `join!`, or, after [`resume_unwind`](std::panic::resume_unwind), which calls no
/// hook, one that was caught before and that the guard was not used after.
/// [`run`](super::TraceBuilder::run), [`run_async`](super::TraceBuilder::run_async) and traced
/// functions record exactly their own panic.
///
/// A hook that you [set](std::panic::set_hook) replaces that of the SDK, unless it chains it; the next
/// run that starts, or guard that is changed, installs it again. A guard that a panic drops in between
/// says only "panicked". Best set a hook of your own before the first run.
///
/// Where panics abort, the hook records the run, if the panic is on the thread that created the guard
/// or last changed it.
#[derive(Debug)]
#[must_use = "the run ends when the guard is dropped: keep it for as long as the run takes"]
pub struct TraceGuard {
    /// `None` once the run has ended.
    open: Option<OpenRun>,
    context: TraceContext,
}

/// The longest wait for a memory while the thread unwinds.
const UNWINDING_LIMIT: Duration = Duration::from_secs(2);

impl TraceGuard {
    pub(super) fn new(open: OpenRun) -> Self {
        let guard = Self {
            context: open.context.clone(),
            open: Some(open),
        };
        guard.watch_thread();
        guard
    }

    /// Appends a message to the trajectory; see [`TraceContext::record`].
    pub fn record(&self, message: Message) {
        self.context.record(message);
        self.renew();
    }

    /// Sets the output of the run. A later call replaces an earlier one, except for a task or alpha
    /// that it does not set.
    pub fn set_output(&self, mut output: TraceOutput) {
        if self.context.has_ended() {
            // The panic hook ended the run, and the panic did not end the process.
            let run_id = self.context.run_id();
            tracing::debug!(target: "reflect", run_id, "an output was set after the end of its run");
        }
        self.context.conclude(|conclusion| {
            if let Some(before) = conclusion.output.take() {
                output.task = output.task.take().or(before.task);
                output.alpha = output.alpha.or(before.alpha);
            }
            *conclusion = Conclusion {
                output: Some(output),
                error: None,
            };
        });
        self.renew();
    }

    /// Marks the run as failed if the result is an `Err`, and returns the result.
    ///
    /// ```no_run
    /// use std::num::ParseIntError;
    ///
    /// async fn add(client: &reflect_sdk::ReflectClient) -> Result<i32, ParseIntError> {
    ///     let run = client.trace("Add the numbers").await;
    ///     let number: i32 = run.fail_on_err("seven".parse())?;
    ///     Ok(number + 1)
    /// }
    /// ```
    pub fn fail_on_err<T, E: Display>(&self, result: Result<T, E>) -> Result<T, E> {
        if let Err(error) = &result {
            let text = error.to_string();
            self.context
                .conclude(|conclusion| conclusion.error = Some(text));
        }
        self.renew();
        result
    }

    /// The context of the run. A guard enters no scope by itself: use
    /// [`in_scope`](TraceContext::in_scope) or [`scope`](TraceContext::scope) of the context.
    pub fn context(&self) -> &TraceContext {
        &self.context
    }

    /// Ends the run and waits until it is stored, or, if it waits for that, until its memory
    /// exists.
    ///
    /// The run is queued immediately: it is sent even if the future is dropped.
    pub async fn finish(mut self) -> Result<TraceReceipt> {
        let limit = self
            .open
            .as_ref()
            .and_then(|open| open.options.until_learned);
        let client = self.open.as_ref().map(|open| Arc::clone(&open.client));
        let handle = self.end();
        match (limit, client) {
            (Some(limit), Some(client)) => handle.wait_within(&client, limit).await,
            _ => handle.wait().await,
        }
    }

    /// Blocking version of [`finish`](Self::finish), which waits for at most `limit`.
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

    /// Ends the run and queues its trace, without waiting for it, even for its
    /// memory.
    pub fn submit(mut self) -> TraceHandle {
        self.end()
    }

    /// Ends the run without recording it.
    pub fn discard(mut self) {
        if let Some(open) = self.open.take() {
            open.end(Ending::Discarded);
        }
    }

    fn end(&mut self) -> TraceHandle {
        let Conclusion { output, error } = self.context.take_conclusion();
        let Some(open) = self.open.take() else {
            return self.context.handle();
        };
        let ending = match (open.mark.panic(), error, output) {
            (Some(cause), _, output) => Ending::Failed { cause, output },
            (None, Some(error), output) => Ending::error(error, output),
            (None, None, Some(output)) => Ending::Output(output),
            (None, None, None) => Ending::Abandoned,
        };
        open.end(ending)
    }

    /// A guard that is changed proves that earlier panics were handled.
    fn renew(&self) {
        if self.context.is_idle() {
            return;
        }
        if let Some(open) = &self.open {
            open.mark.renew();
        }
        self.watch_thread();
    }

    #[cfg(feature = "panic-hook")]
    fn watch_thread(&self) {
        if let Some(open) = &self.open {
            if open.client.core().settings.flush_on_panic {
                super::panics::rescue::watch_thread(self.context.run_id());
            }
        }
    }

    #[cfg(not(feature = "panic-hook"))]
    #[expect(clippy::unused_self, reason = "it is like the other")]
    fn watch_thread(&self) {}
}

/// The task, the memories and the handle of the run are those of its context.
impl Deref for TraceGuard {
    type Target = TraceContext;

    fn deref(&self) -> &TraceContext {
        &self.context
    }
}

impl Drop for TraceGuard {
    fn drop(&mut self) {
        let Some(open) = &self.open else { return };
        let (client, mut limit) = (Arc::clone(&open.client), open.options.until_learned);
        if thread::panicking() {
            limit = limit.map(|limit| limit.min(UNWINDING_LIMIT));
        }
        let handle = self.end();
        wait_until_learned(&client, limit, &handle);
    }
}
