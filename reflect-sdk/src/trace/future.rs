//! The future of an async run.

use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use pin_project::{pin_project, pinned_drop};

use super::begin::{Request, refuse, take_request};
use super::context::TraceContext;
use super::ending::Ending;
use super::handle::TraceHandle;
use super::open::{OpenRun, wait};
use super::returns::{ReturnValue, TraceReturn};
use super::start::Start;
use crate::client::Handle;
use crate::error::Result;

/// Makes a traced future of a body that starts its run with [`begin`](super::begin::begin), and
/// returns its output.
///
/// The body must be an async block, which drops what it owns when it completes or panics.
pub fn traced<R: ReturnValue<V>, V, F: Future<Output = R>>(body: F) -> Traced<F, V> {
    Traced::new(body, |open, mut value, learning| {
        if let Some(open) = open {
            *learning = end(*open, &mut value);
        }
        value.into_value()
    })
}

/// Like [`traced`], and returns the body's value as it is.
#[cfg(feature = "macros")]
pub fn traced_whole<R: TraceReturn, F: Future<Output = R>>(body: F) -> Traced<F, R> {
    Traced::new(body, |open, mut value, learning| {
        if let Some(open) = open {
            *learning = end(*open, &mut value);
        } else {
            value.attach(TraceHandle::disabled());
        }
        value
    })
}

fn end<R: TraceReturn>(open: OpenRun, value: &mut R) -> Option<Learning> {
    let (client, limit) = (Arc::clone(&open.client), open.options.blocking);
    let handle = open.end_with(value);
    let limit = limit?;
    Some(Learning {
        client,
        limit,
        handle,
    })
}

/// The future of a run. It tells a value from a panic from a cancellation.
///
/// It stores the body as it is and all else in boxes, which keeps it as small as the body, and chains
/// of calls short enough for the compiler's recursion limit.
#[pin_project(PinnedDrop)]
pub struct Traced<F: Future, V> {
    /// Taken out only by `drop`.
    #[pin]
    body: Option<F>,
    /// `None` until the body asks for a run; an `Option`, so that an untraced body drops no `Stage`.
    stage: Option<Stage>,
    /// Ends the run, if there is one, with the value of its body.
    ///
    /// A pointer, so that this is a future whatever the body returns: a body whose value cannot be
    /// recorded is an error where the future is made, and not again where it is awaited.
    end: End<F::Output, V>,
}

type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The memory to wait for has a slot of its own, so that a small value is returned in registers.
type End<R, V> = fn(Option<Box<OpenRun>>, R, &mut Option<Learning>) -> V;

enum Stage {
    Starting(BoxFuture<Result<OpenRun>>),
    Running(Box<OpenRun>),
    /// The client is disabled.
    Idle(TraceContext),
    Ended,
}

impl From<Request> for Stage {
    fn from(Request { start, strict }: Request) -> Self {
        match start {
            Start::Idle(context) => Self::Idle(context),
            Start::Open(open) => Self::Running(open),
            Start::New(builder) if strict => Self::Starting(Box::pin(builder.strict().open())),
            Start::New(builder) => {
                Self::Starting(Box::pin(async move { Ok(builder.open().await) }))
            }
        }
    }
}

/// Ends the stage; returns the run, if it is one.
fn take_run(stage: &mut Option<Stage>) -> Option<Box<OpenRun>> {
    match stage.replace(Stage::Ended) {
        Some(Stage::Running(open)) => Some(open),
        _ => None,
    }
}

impl<F: Future, V> Traced<F, V> {
    fn new(body: F, end: End<F::Output, V>) -> Self {
        Self {
            body: Some(body),
            stage: None,
            end,
        }
    }

    /// Waits after the end of a blocking run until its memory exists.
    pub fn until_learned(self) -> UntilLearned<F, V> {
        UntilLearned {
            traced: self,
            waiting: None,
        }
    }

    /// Polls the run to its end, which may set the memory to wait for.
    #[inline]
    fn poll_end(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        learning: &mut Option<Learning>,
    ) -> Poll<V> {
        let this = self.as_mut().project();
        if this.stage.is_none() {
            let Some(body) = this.body.as_pin_mut() else {
                return Poll::Pending;
            };
            if let Poll::Ready(value) = body.poll(cx) {
                return Poll::Ready((this.end)(None, value, learning));
            }
            match take_request() {
                Some(request) => *this.stage = Some(request.into()),
                None => return Poll::Pending,
            }
        }
        self.poll_run(cx, learning)
    }

    /// Not inlined, to keep untraced bodies fast.
    #[inline(never)]
    fn poll_run(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        learning: &mut Option<Learning>,
    ) -> Poll<V> {
        let this = self.as_mut().project();
        if let Some(Stage::Starting(start)) = this.stage {
            match ready!(start.as_mut().poll(cx)) {
                Ok(open) => *this.stage = Some(Stage::Running(Box::new(open))),
                Err(error) => {
                    refuse(error);
                    *this.stage = None;
                    return self.poll_end(cx, learning);
                }
            }
        }
        let (context, body) = match (&*this.stage, this.body.as_pin_mut()) {
            (Some(Stage::Running(open)), Some(body)) => (&open.context, body),
            (Some(Stage::Idle(context)), Some(body)) => (context, body),
            // Polled again after its end.
            _ => return Poll::Pending,
        };
        let scope = context.enter();
        let polled = catch_unwind(AssertUnwindSafe(|| body.poll(cx)));
        drop(scope);
        match polled {
            Ok(polled) => polled.map(|value| (this.end)(take_run(this.stage), value, learning)),
            Err(payload) => {
                if let Some(open) = take_run(this.stage) {
                    open.end_panicked(&*payload);
                }
                resume_unwind(payload)
            }
        }
    }
}

impl<F: Future, V> Future for Traced<F, V> {
    type Output = V;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<V> {
        self.poll_end(cx, &mut None)
    }
}

#[pinned_drop]
impl<F: Future, V> PinnedDrop for Traced<F, V> {
    fn drop(self: Pin<&mut Self>) {
        let mut this = self.project();
        if let Some(Stage::Running(_)) = this.stage {
            let cancelled = Cancelled(take_run(this.stage));
            // Destructors of the body may start and end runs.
            let _scope = cancelled.0.as_ref().map(|open| open.context.enter());
            this.body.set(None);
        }
    }
}

/// A run whose body is being dropped. It ends even if that panics.
struct Cancelled(Option<Box<OpenRun>>);

impl Drop for Cancelled {
    fn drop(&mut self) {
        if let Some(open) = self.0.take() {
            open.end(Ending::Cancelled);
        }
    }
}

/// The memory that a blocking run waits for.
struct Learning {
    client: Arc<Handle>,
    limit: Duration,
    handle: TraceHandle,
}

impl Learning {
    async fn wait(self) {
        wait(&self.client, self.limit, &self.handle).await;
    }
}

/// A [`Traced`] future that waits for its memory. An `async fn` would store the traced future twice.
#[pin_project]
pub struct UntilLearned<F: Future, V> {
    #[pin]
    traced: Traced<F, V>,
    /// The value of the ended run, and the wait for its memory.
    waiting: Option<(V, BoxFuture<()>)>,
}

impl<F: Future, V> Future for UntilLearned<F, V> {
    type Output = V;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<V> {
        let this = self.project();
        let waiting = if let Some(waiting) = this.waiting {
            waiting
        } else {
            let mut learning = None;
            let value = ready!(this.traced.poll_end(cx, &mut learning));
            let Some(learning) = learning else {
                return Poll::Ready(value);
            };
            this.waiting.insert((value, Box::pin(learning.wait())))
        };
        ready!(waiting.1.as_mut().poll(cx));
        match this.waiting.take() {
            Some((value, _)) => Poll::Ready(value),
            // Unreachable: it was polled above.
            None => Poll::Pending,
        }
    }
}

impl<F: Future, V> fmt::Debug for Traced<F, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Traced").finish_non_exhaustive()
    }
}

impl<F: Future, V> fmt::Debug for UntilLearned<F, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UntilLearned").finish_non_exhaustive()
    }
}
