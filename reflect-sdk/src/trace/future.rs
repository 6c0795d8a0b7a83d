//! The future of a function under `#[reflect_trace]`.

use std::cell::Cell;
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
use super::closure::outcome;
use super::context::TraceContext;
use super::handle::TraceHandle;
use super::open::{Ending, Open};
use super::returns::TraceReturn;
use super::traced::Start;
use crate::client::Handle;
use crate::error::{Error, Result};

/// Makes a future of the body of a traced function, which gives its output. The body says by
/// [`begin`] which run it is.
pub fn traced<R: TraceReturn<Output = V>, V, F: Future<Output = R>>(body: F) -> Traced<F, V> {
    Traced {
        body,
        stage: Stage::Untraced,
        end: |open, value| {
            let (value, pending) = end(open, value);
            (value.into_output(), pending)
        },
    }
}

/// The same for a function that gives its value as it is.
pub fn traced_whole<R: TraceReturn, F: Future<Output = R>>(body: F) -> Traced<F, R> {
    Traced {
        body,
        stage: Stage::Untraced,
        end,
    }
}

/// The future of a traced function.
///
/// It is one future, which holds the body as it is and all else in boxes: that keeps it as small as
/// the body, and chains of calls short enough for the compiler. So the body itself is what starts
/// the run: it cannot be begun later, nor be a second future beside the one that starts it.
#[pin_project(PinnedDrop)]
pub struct Traced<F: Future, V> {
    #[pin]
    body: F,
    /// Must be dropped after the body; see [`Cancelling`].
    stage: Stage,
    /// Ends the run, if there is one, with what came of its body, and gives what callers get.
    ///
    /// A pointer, so that this is a future whatever the body returns: if that cannot be recorded,
    /// the compiler says so where the future is made, and not a second time where it is used.
    end: End<F::Output, V>,
}

type End<R, V> = fn(Option<Box<Open>>, R) -> (V, Option<Pending>);

enum Stage {
    Untraced,
    Starting(Pin<Box<dyn Future<Output = Result<Open>> + Send>>),
    Running(Box<Open>),
    Cancelling(#[expect(dead_code, reason = "is there to be dropped")] Cancelling),
    Ended,
}

impl Stage {
    fn of(Asked { start, strictly }: Asked) -> Self {
        let builder = start.0;
        if !builder.is_enabled() {
            // There is nothing to wait for.
            return Self::Running(Box::new(builder.open_blocking()));
        }
        Self::Starting(if strictly {
            Box::pin(builder.strict().open())
        } else {
            Box::pin(async move { Ok(builder.open().await) })
        })
    }

    fn take(&mut self) -> Self {
        mem::replace(self, Self::Ended)
    }

    /// The run, if it is one that has begun and not ended.
    fn open(self) -> Option<Box<Open>> {
        match self {
            Self::Running(open) => Some(open),
            _ => None,
        }
    }
}

fn end<R: TraceReturn>(open: Option<Box<Open>>, mut value: R) -> (R, Option<Pending>) {
    let Some(open) = open else {
        return (value, None);
    };
    let (client, limit) = (Arc::clone(&open.client), open.options.blocking);
    let handle = open.end(outcome(&value).into());
    value.attach(&handle);
    let pending = limit.map(|limit| Pending {
        client,
        limit,
        handle,
    });
    (value, pending)
}

/// What is left to wait for when a run has ended.
struct Pending {
    client: Arc<Handle>,
    limit: Duration,
    handle: TraceHandle,
}

impl<F: Future, V> Traced<F, V> {
    /// Waits, when the run has ended, until its memory exists.
    pub async fn until_learned(self) -> V {
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

    fn poll_end(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<(V, Option<Pending>)> {
        let mut this = self.project();
        loop {
            match this.stage {
                Stage::Untraced => {
                    let polled = this.body.as_mut().poll(cx);
                    match (polled, take_handed()) {
                        (Poll::Ready(value), _) => return Poll::Ready((this.end)(None, value)),
                        (Poll::Pending, Some(Handed::ToFuture(asked))) => {
                            *this.stage = Stage::of(asked);
                        }
                        (Poll::Pending, _) => return Poll::Pending,
                    }
                }
                Stage::Starting(start) => match ready!(start.as_mut().poll(cx)) {
                    Ok(open) => *this.stage = Stage::Running(Box::new(open)),
                    Err(refused) => {
                        hand_over(Handed::ToBody(refused));
                        *this.stage = Stage::Untraced;
                    }
                },
                Stage::Running(open) => {
                    let scope = open.context.enter();
                    let polled = catch_unwind(AssertUnwindSafe(|| this.body.as_mut().poll(cx)));
                    drop(scope);
                    return match polled {
                        Ok(polled) => polled.map(|value| {
                            let open = this.stage.take().open();
                            (this.end)(open, value)
                        }),
                        Err(payload) => {
                            if let Some(open) = this.stage.take().open() {
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

impl<F: Future, V> Future for Traced<F, V> {
    type Output = V;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<V> {
        self.poll_end(cx).map(|(value, _)| value)
    }
}

/// What the body asks of the future that holds it.
struct Asked {
    start: Start,
    strictly: bool,
}

enum Handed {
    ToFuture(Asked),
    ToBody(Error),
}

thread_local! {
    /// Passes between a body and the future around it, within one call of `poll`.
    static HANDED_OVER: Cell<Option<Handed>> = const { Cell::new(None) };
}

/// Fails only while the thread ends; then there is no run.
fn hand_over(handed: Handed) -> bool {
    HANDED_OVER.try_with(|cell| cell.set(Some(handed))).is_ok()
}

#[inline]
fn take_handed() -> Option<Handed> {
    HANDED_OVER.try_with(Cell::take).ok().flatten()
}

/// Becomes the run, if there is to be one. Only the body of a [`traced`] future can.
pub fn begin(start: Option<Start>) -> Begin {
    let strictly = false;
    Begin(start.map(|start| Asked { start, strictly }))
}

/// Becomes the run, if there is to be one, and if its memories come.
pub async fn begin_strictly(start: Option<Start>) -> Result<()> {
    let strictly = true;
    Begin(start.map(|start| Asked { start, strictly })).await;
    match take_handed() {
        Some(Handed::ToBody(refused)) => Err(refused),
        _ => Ok(()),
    }
}

/// Asks the future around the body to start the run.
pub struct Begin(Option<Asked>);

impl Future for Begin {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        // The future takes it as soon as it is its turn, so nobody needs to be woken.
        let asked = self.0.take().map(Handed::ToFuture);
        if asked.is_some_and(hand_over) {
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    }
}

#[pinned_drop]
impl<F: Future, V> PinnedDrop for Traced<F, V> {
    fn drop(self: Pin<&mut Self>) {
        let stage = self.project().stage;
        // Whoever drops it before the run began, or after it ended, drops nothing of a run.
        if let Some(open) = stage.take().open() {
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

impl<F: Future, V> fmt::Debug for Traced<F, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Traced").finish_non_exhaustive()
    }
}

impl fmt::Debug for Begin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Begin").finish_non_exhaustive()
    }
}
