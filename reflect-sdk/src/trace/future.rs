//! The future of an async run.
//!
//! A body that is an async block cannot be created after the memories are there without storing its
//! captures twice. So the body is polled first, starts its run itself, and hands it through a [`Slot`]
//! to the [`Traced`] future around it, which polls it again within that run.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use pin_project::{pin_project, pinned_drop};

use super::builder::TraceBuilder;
use super::context::TraceContext;
use super::failure::Inspect;
use super::handle::TraceHandle;
use super::output::{ReturnValue, TraceReturn};
#[cfg(feature = "macros")]
use super::run::wait_until_learned;
use super::run::{Ending, OpenRun, wait};
use crate::client::Handle;
use crate::error::{Error, Result};

/// Makes a traced future of a body that starts its run with [`Slot::begin`], and returns its output.
///
/// The body must be an async block, which drops what it owns when it completes or panics.
pub fn traced<R: ReturnValue<V>, V, F: Future<Output = R>>(
    body: impl FnOnce(Slot) -> F,
    inspect: Inspect<R>,
) -> Traced<F, V> {
    Traced::new(body, inspect, |run, mut value, inspect, learning| {
        *learning = run.and_then(|run| end(*run, &mut value, inspect));
        value.into_value()
    })
}

/// Like [`traced`], and returns the body's value as it is.
#[cfg(feature = "macros")]
pub fn traced_whole<R: TraceReturn, F: Future<Output = R>>(
    body: impl FnOnce(Slot) -> F,
    inspect: Inspect<R>,
) -> Traced<F, R> {
    Traced::new(body, inspect, |run, mut value, inspect, learning| {
        match run {
            Some(run) => *learning = end(*run, &mut value, inspect),
            None => value.attach(TraceHandle::disabled()),
        }
        value
    })
}

/// Ends the run with the value. Returns the memory to wait for.
pub(super) fn end<R: TraceReturn>(
    run: OpenRun,
    value: &mut R,
    inspect: Inspect<R>,
) -> Option<Learning> {
    Learning::after(run, |run| run.end_with(value, inspect))
}

/// Where a body leaves its run for the future around it.
#[derive(Clone, Debug, Default)]
pub struct Slot(Arc<Mutex<Option<Box<OpenRun>>>>);

impl Slot {
    /// Starts the run of the body that awaits this.
    #[inline]
    pub fn begin(&self, run: TraceBuilder) -> Begin<Infallible> {
        self.start(run, TraceBuilder::open)
    }

    /// Starts the run of the body that awaits this, or returns the error of the retrieval.
    #[inline]
    pub fn begin_strictly(&self, run: TraceBuilder) -> Begin<Error> {
        self.start(run, |run| run.strict().open())
    }

    fn start<E, F>(&self, run: TraceBuilder, open: impl FnOnce(TraceBuilder) -> F) -> Begin<E>
    where
        F: Future<Output = Result<OpenRun, E>> + Send + 'static,
    {
        let slot = self.clone();
        let start = if run.is_enabled() {
            Start::Opening(Box::pin(open(run)))
        } else {
            Start::Started(self.put(run.idle()))
        };
        Begin { slot, start }
    }

    fn put(&self, run: OpenRun) -> TraceContext {
        let context = run.context.clone();
        *self.lock() = Some(Box::new(run));
        context
    }

    fn take(&self) -> Option<Box<OpenRun>> {
        self.lock().take()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Box<OpenRun>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The future of [`Slot::begin`].
pub struct Begin<E> {
    slot: Slot,
    start: Start<E>,
}

enum Start<E> {
    Opening(BoxFuture<Result<OpenRun, E>>),
    /// The run is in the slot.
    Started(TraceContext),
    /// The future around the body has taken it.
    Running(TraceContext),
    Ended,
}

impl<E> Future for Begin<E> {
    type Output = Result<TraceContext, E>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match std::mem::replace(&mut self.start, Start::Ended) {
            Start::Opening(mut opening) => match opening.as_mut().poll(cx) {
                Poll::Pending => self.start = Start::Opening(opening),
                Poll::Ready(Ok(run)) => self.start = Start::Running(self.slot.put(run)),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            },
            Start::Started(context) => self.start = Start::Running(context),
            Start::Running(context) => return Poll::Ready(Ok(context)),
            Start::Ended => {}
        }
        // The future around the body finds the run as soon as the body returns: no waker needed.
        Poll::Pending
    }
}

/// The future of a run. It tells a value from a panic from a cancellation.
///
/// It stores the body as it is and all else in boxes, which keeps it as small as the body, and chains
/// of calls short enough for the compiler's recursion limit.
#[pin_project(PinnedDrop)]
pub struct Traced<F: Future, V> {
    /// `None` after its end.
    #[pin]
    body: Option<F>,
    slot: Slot,
    /// `None` until the body has started it.
    run: Option<Box<OpenRun>>,
    /// Ends the run, if there is one, with the value of its body.
    ///
    /// A pointer, so that this is a future whatever the body returns: a body whose value cannot be
    /// recorded is an error where the future is made, and not again where it is awaited.
    end: End<F::Output, V>,
    inspect: Inspect<F::Output>,
}

pub(super) type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The memory to wait for has a slot of its own, so that a small value is returned in registers.
pub(super) type End<R, V> = fn(Option<Box<OpenRun>>, R, Inspect<R>, &mut Option<Learning>) -> V;

impl<F: Future, V> Traced<F, V> {
    pub(super) fn new(
        body: impl FnOnce(Slot) -> F,
        inspect: Inspect<F::Output>,
        end: End<F::Output, V>,
    ) -> Self {
        let slot = Slot::default();
        Self {
            body: Some(body(slot.clone())),
            slot,
            run: None,
            end,
            inspect,
        }
    }

    /// Waits after the end of the run until its memory exists, if the run is to wait for that.
    pub fn until_learned(self) -> UntilLearned<F, V> {
        UntilLearned {
            traced: self,
            waiting: None,
        }
    }

    /// Polls the run to its end, which may set the memory to wait for.
    fn poll_end(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        learning: &mut Option<Learning>,
    ) -> Poll<V> {
        let mut this = self.project();
        loop {
            let Some(body) = this.body.as_mut().as_pin_mut() else {
                return Poll::Pending;
            };
            let scope = this.run.as_ref().map(|run| run.context.enter());
            let polled = catch_unwind(AssertUnwindSafe(|| body.poll(cx)));
            drop(scope);
            match polled {
                Ok(Poll::Pending) if this.run.is_none() => match this.slot.take() {
                    // Again, within the run.
                    Some(run) => *this.run = Some(run),
                    None => return Poll::Pending,
                },
                Ok(Poll::Pending) => return Poll::Pending,
                Ok(Poll::Ready(value)) => {
                    this.body.set(None);
                    return Poll::Ready((this.end)(
                        this.run.take(),
                        value,
                        *this.inspect,
                        learning,
                    ));
                }
                Err(payload) => {
                    if let Some(run) = this.run.take() {
                        run.end_panicked(&*payload);
                    }
                    resume_unwind(payload)
                }
            }
        }
    }
}

impl<F: Future, V> Future for Traced<F, V> {
    type Output = V;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<V> {
        self.poll_end(cx, &mut None)
    }
}

#[pinned_drop]
impl<F: Future, V> PinnedDrop for Traced<F, V> {
    fn drop(self: Pin<&mut Self>) {
        let mut this = self.project();
        if let Some(run) = this.run.take() {
            let cancelled = Cancelled(Some(run));
            // Destructors of the body may start and end runs.
            let _scope = cancelled.0.as_ref().map(|run| run.context.enter());
            this.body.set(None);
        }
    }
}

/// A run whose body is being dropped. It ends even if that panics.
struct Cancelled(Option<Box<OpenRun>>);

impl Drop for Cancelled {
    fn drop(&mut self) {
        if let Some(run) = self.0.take() {
            run.end(Ending::Cancelled);
        }
    }
}

/// The memory that a run waits for.
pub struct Learning {
    client: Arc<Handle>,
    limit: Duration,
    handle: TraceHandle,
}

impl Learning {
    /// Ends the run.
    pub(super) fn after(run: OpenRun, end: impl FnOnce(OpenRun) -> TraceHandle) -> Option<Self> {
        let (client, limit) = (Arc::clone(&run.client), run.options.until_learned);
        let handle = end(run);
        Some(Self {
            client,
            limit: limit?,
            handle,
        })
    }

    pub(super) async fn wait(self) {
        wait(&self.client, self.limit, &self.handle).await;
    }

    #[cfg(feature = "macros")]
    pub(super) fn wait_blocking(self) {
        wait_until_learned(&self.client, Some(self.limit), &self.handle);
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

impl fmt::Debug for Learning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Learning").finish_non_exhaustive()
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

impl<E> fmt::Debug for Begin<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Begin").finish_non_exhaustive()
    }
}
