//! Runs of functions under `#[reflect_trace]`.
//!
//! Code that only traced calls need is kept out of line, so that untraced calls stay cheap.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, LazyLock, Once};
use std::time::Duration;

use super::ambient::is_within_a_run;
use super::builder::TraceBuilder;
use super::context::TraceContext;
use super::handle::TraceHandle;
use super::open::run_idle;
use super::panic_hook::survive;
use super::returns::{ReturnValue, TraceReturn};
use super::start::Start;
use super::user_code::value_of;
use crate::client::{AsClient, Handle, ReflectClient, client};
use crate::core::warn_once;
use crate::error::{Error, Result};

/// The start of a run of a disabled client.
#[inline]
pub fn idle(task: String) -> Start {
    Start::idle(task)
}

/// The start of a run with options.
#[cold]
#[inline(never)]
pub fn described(builder: TraceBuilder) -> Start {
    Start::New(Box::new(builder))
}

/// The start of a run without options.
#[cold]
#[inline(never)]
pub fn start(client: ReflectClient, task: impl FnOnce() -> String) -> Start {
    described(trace(client, task))
}

/// A run with this task; an empty one if it panics.
#[cold]
#[inline(never)]
#[expect(
    clippy::needless_pass_by_value,
    reason = "so the caller has nothing left to drop"
)]
pub fn trace(client: ReflectClient, task: impl FnOnce() -> String) -> TraceBuilder {
    let task = value_of(client.core(), "task", task);
    client.trace(task.unwrap_or_default())
}

/// The client that an expression returns; `None` if it panics.
pub fn survived_client(client: impl FnOnce() -> Option<ReflectClient>) -> Option<ReflectClient> {
    static WARNED: Once = Once::new();

    survive(client).unwrap_or_else(|_| {
        warn_once(
            &WARNED,
            "a traced function runs untraced because its `client` panicked",
        );
        None
    })
}

/// The client of a run whose body sees no context; `None` for a plain call.
///
/// Within a recorded run, a disabled client is returned too: what the body records must not become a
/// part of the run around it.
#[inline]
pub fn unseen_client<C: AsClient + ?Sized>(of: &C) -> Option<ReflectClient> {
    match client(of) {
        None if is_within_a_run() => Some(disabled()),
        found => found,
    }
}

#[cold]
#[inline(never)]
fn disabled() -> ReflectClient {
    static DISABLED: LazyLock<ReflectClient> = LazyLock::new(ReflectClient::disabled);
    DISABLED.clone()
}

/// Whether the run may be recorded, so that its options are evaluated.
pub fn is_recorded(run: &TraceBuilder) -> bool {
    run.is_enabled()
}

/// Starts the run of a function that is not async, or returns the error of the retrieval.
pub fn start_strictly(start: Option<Start>) -> Result<Option<Start>> {
    Ok(match start {
        Some(Start::New(builder)) => Some(Start::Open(Box::new(builder.strict().open_blocking()?))),
        other => other,
    })
}

/// A return type for the error of a `strict` run that did not start.
#[diagnostic::on_unimplemented(
    message = "`strict` returns an error if the memories cannot be retrieved, and `{Self}` cannot be one",
    label = "needs a function that returns a `Result<_, E>`, with `E: From<reflect_sdk::Error>`"
)]
pub trait Refusal {
    /// The value to return.
    fn refuse(error: Error) -> Self;
}

impl<T, E: From<Error>> Refusal for Result<T, E> {
    fn refuse(error: Error) -> Self {
        Err(error.into())
    }
}

/// Runs the function and returns its output. A run gives the body its context.
#[inline]
pub fn run<R, V, F>(start: Option<Start>, body: F) -> V
where
    R: ReturnValue<V>,
    F: FnOnce(Option<TraceContext>) -> R,
{
    match start {
        None => body(None).into_value(),
        Some(start) => run_traced(start, body).into_value(),
    }
}

/// Runs the function and returns its value as it is.
#[inline]
pub fn run_whole<R, F>(start: Option<Start>, body: F) -> R
where
    R: TraceReturn,
    F: FnOnce(Option<TraceContext>) -> R,
{
    if let Some(start) = start {
        return run_traced(start, body);
    }
    let mut value = body(None);
    value.attach(TraceHandle::disabled());
    value
}

#[cold]
#[inline(never)]
fn run_traced<R, F>(start: Start, body: F) -> R
where
    R: TraceReturn,
    F: FnOnce(Option<TraceContext>) -> R,
{
    let open = match start {
        Start::Idle(context) => return run_idle(context, |context| body(Some(context))),
        Start::New(builder) => builder.open_blocking(),
        Start::Open(open) => *open,
    };
    open.run(|context| body(Some(context)))
}

/// Runs a function that a panic must not leave, such as an `extern "C" fn`. A panic then ends the
/// process, so the run is sent before.
pub fn foreign<V>(start: Option<Start>, body: impl FnOnce(Option<Start>) -> V) -> V {
    /// A process that is about to end must not be held up for long.
    const LIMIT: Duration = Duration::from_secs(2);

    let Some(client) = start.as_ref().and_then(client_of) else {
        return body(start);
    };
    catch_unwind(AssertUnwindSafe(|| body(start))).unwrap_or_else(|payload| {
        client.wait_for_pending(LIMIT);
        resume_unwind(payload)
    })
}

fn client_of(start: &Start) -> Option<Arc<Handle>> {
    match start {
        Start::Idle(_) => None,
        Start::New(builder) => Some(Arc::clone(builder.client())),
        Start::Open(open) => Some(Arc::clone(&open.client)),
    }
}
