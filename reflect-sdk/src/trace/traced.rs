//! Runs as `#[reflect_trace]` makes them of functions.

use std::fmt;
use std::future::{Future, poll_fn};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use pin_project::{pin_project, pinned_drop};

use super::ambient::swap;
use super::builder::TraceBuilder;
use super::closure::outcome;
use super::context::TraceContext;
use super::handle::TraceHandle;
use super::open::{Ending, Open};
use super::returns::TraceReturn;
use crate::client::Handle;
use crate::error::{Error, Result};

/// A run that a function is about to start.
#[derive(Debug)]
pub struct Start<R> {
    builder: Box<TraceBuilder>,
    /// What is returned where the memories do not come; `None` starts the run without them.
    refuse: Option<fn(Error) -> R>,
}

impl<R> Start<R> {
    /// A run that starts in any case.
    pub fn new(builder: TraceBuilder) -> Self {
        Self {
            builder: Box::new(builder),
            refuse: None,
        }
    }

    fn open_blocking(self) -> Result<Open, R> {
        match self.refuse {
            None => Ok(self.builder.open_blocking()),
            Some(refuse) => self.builder.strict().open_blocking().map_err(refuse),
        }
    }
}

impl<R: Refuse> Start<R> {
    /// A run that does not start without its memories.
    pub fn strict(builder: TraceBuilder) -> Self {
        Self {
            refuse: Some(R::refuse),
            ..Self::new(builder)
        }
    }
}

/// What can carry the error of a run that did not start.
#[diagnostic::on_unimplemented(
    message = "`strict` returns an error where the memories do not come, and `{Self}` cannot be one",
    label = "return a `Result<_, E>`, with an `E` that implements `From<reflect_sdk::Error>`"
)]
pub trait Refuse {
    /// Makes the error what is returned.
    fn refuse(error: Error) -> Self;
}

impl<T, E: From<Error>> Refuse for Result<T, E> {
    fn refuse(error: Error) -> Self {
        Err(error.into())
    }
}

/// Runs the function as a run of its own, if it is to be one.
#[inline]
pub fn run<R: TraceReturn, F: FnOnce() -> R>(start: Option<Start<R>>, body: F) -> R {
    match start {
        None => body(),
        Some(start) => run_with(start, |_| body()),
    }
}

/// Runs the function as a run of its own.
pub fn run_with<R: TraceReturn, F: FnOnce(TraceContext) -> R>(start: Start<R>, body: F) -> R {
    match start.open_blocking() {
        Ok(open) => open.run(body),
        Err(refused) => refused,
    }
}

/// Makes the future a run of its own, if it is to be one.
pub fn traced<R: TraceReturn, F: Future<Output = R>>(
    start: Option<Start<R>>,
    body: F,
) -> Traced<F> {
    Traced {
        body,
        stage: start.map_or(Stage::Untraced, Stage::of),
    }
}

/// The future of a traced function: first it asks for memories, then it is the body.
///
/// It is one future, which holds the body from the beginning and as it is, and all else in boxes:
/// that keeps it as small as the body, and chains of calls short enough for the compiler.
#[pin_project(PinnedDrop)]
pub struct Traced<F: Future> {
    #[pin]
    body: F,
    /// Must be dropped after the body; see [`Cancelling`].
    stage: Stage<F::Output>,
}

enum Stage<R> {
    Untraced,
    Starting(Pin<Box<dyn Future<Output = Open> + Send>>),
    StartingStrictly(
        Pin<Box<dyn Future<Output = Result<Open>> + Send>>,
        fn(Error) -> R,
    ),
    Running(Box<Open>),
    Cancelling(#[expect(dead_code, reason = "is there to be dropped")] Cancelling),
    Ended,
}

impl<R> Stage<R> {
    fn of(start: Start<R>) -> Self {
        let Start { builder, refuse } = start;
        match refuse {
            // There is nothing to wait for.
            _ if !builder.is_enabled() => Self::Running(Box::new(builder.open_blocking())),
            None => Self::Starting(Box::pin(builder.open())),
            Some(refuse) => Self::StartingStrictly(Box::pin(builder.strict().open()), refuse),
        }
    }

    fn take(&mut self) -> Self {
        mem::replace(self, Self::Ended)
    }
}

/// What is left to wait for when a run has ended.
struct Pending {
    client: Arc<Handle>,
    limit: Duration,
    handle: TraceHandle,
}

impl<F: Future<Output: TraceReturn>> Traced<F> {
    /// Waits, when the run has ended, until its memory exists.
    pub async fn until_learned(self) -> F::Output {
        let mut this = pin!(self);
        let (value, pending) = poll_fn(|cx| this.as_mut().poll_end(cx)).await;
        if let Some(Pending {
            client,
            limit,
            handle,
        }) = pending
        {
            // What became of it is told by the handle.
            let _ = handle.wait_within(&client, limit).await;
        }
        value
    }

    fn poll_end(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<(F::Output, Option<Pending>)> {
        let this = self.project();
        loop {
            match this.stage {
                Stage::Untraced => return this.body.poll(cx).map(|value| (value, None)),
                Stage::Starting(start) => {
                    let open = ready!(start.as_mut().poll(cx));
                    *this.stage = Stage::Running(Box::new(open));
                }
                Stage::StartingStrictly(start, refuse) => match ready!(start.as_mut().poll(cx)) {
                    Ok(open) => *this.stage = Stage::Running(Box::new(open)),
                    Err(error) => {
                        let refused = refuse(error);
                        *this.stage = Stage::Ended;
                        return Poll::Ready((refused, None));
                    }
                },
                Stage::Running(open) => {
                    let scope = open.context.enter();
                    let polled = catch_unwind(AssertUnwindSafe(|| this.body.poll(cx)));
                    drop(scope);
                    return match polled {
                        Ok(Poll::Pending) => Poll::Pending,
                        Ok(Poll::Ready(value)) => this.stage.take().end(value),
                        Err(payload) => {
                            if let Stage::Running(open) = this.stage.take() {
                                open.end_panicked(&*payload);
                            }
                            resume_unwind(payload)
                        }
                    };
                }
                // Polled again after its end, which no caller may do.
                Stage::Cancelling(_) | Stage::Ended => return Poll::Pending,
            }
        }
    }
}

impl<R: TraceReturn> Stage<R> {
    /// Ends the run with what came of its body.
    fn end(self, mut value: R) -> Poll<(R, Option<Pending>)> {
        let Self::Running(open) = self else {
            return Poll::Ready((value, None));
        };
        let (client, limit) = (Arc::clone(&open.client), open.options.blocking);
        let handle = open.end(outcome(&value).into());
        value.attach(&handle);
        let pending = limit.map(|limit| Pending {
            client,
            limit,
            handle,
        });
        Poll::Ready((value, pending))
    }
}

impl<F: Future<Output: TraceReturn>> Future for Traced<F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        self.poll_end(cx).map(|(value, _)| value)
    }
}

#[pinned_drop]
impl<F: Future> PinnedDrop for Traced<F> {
    fn drop(self: Pin<&mut Self>) {
        let stage = self.project().stage;
        // Whoever drops it before the body began, or after it ended, drops nothing of a run.
        if let Stage::Running(open) = stage.take() {
            *stage = Stage::Cancelling(Cancelling::new(open));
        }
    }
}

/// A run whose future is being dropped half-way. What the body owns may itself end runs, or start
/// some, so it is dropped as a part of the run: between the birth of this and its end.
struct Cancelling {
    open: Option<Box<Open>>,
    outer: Option<TraceContext>,
}

impl Cancelling {
    fn new(open: Box<Open>) -> Self {
        let span = open.context.span();
        // By hand, because what `Span::enter` gives could not be kept in a future that is sent.
        span.with_subscriber(|(id, subscriber)| subscriber.enter(id));
        let outer = swap(Some(open.context.clone()));
        Self {
            open: Some(open),
            outer,
        }
    }
}

impl Drop for Cancelling {
    fn drop(&mut self) {
        drop(swap(self.outer.take()));
        if let Some(open) = self.open.take() {
            let span = open.context.span();
            span.with_subscriber(|(id, subscriber)| subscriber.exit(id));
            open.end(Ending::Cancelled);
        }
    }
}

impl<F: Future> fmt::Debug for Traced<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Traced").finish_non_exhaustive()
    }
}
