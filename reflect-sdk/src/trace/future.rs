//! The future of a function under `#[reflect_trace]`.

use std::cell::Cell;
use std::fmt;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
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

/// Makes a future of the body of a traced function. The body says by [`begin`] which run it is.
pub fn traced<R: TraceReturn, G: Give<R>, F: Future<Output = R>>(body: F) -> Traced<F, G> {
    Traced {
        body,
        stage: Stage::Untraced,
        gives: PhantomData,
    }
}

/// What callers get of the body's value.
pub trait Give<R> {
    /// What callers get.
    type Value;

    /// Gives it.
    fn give(value: R) -> Self::Value;
}

/// Callers get the output.
#[derive(Debug)]
pub struct Output;

impl<R: TraceReturn> Give<R> for Output {
    type Value = R::Output;

    #[inline]
    fn give(value: R) -> R::Output {
        value.into_output()
    }
}

/// Callers get the value as it is.
#[derive(Debug)]
pub struct Whole;

impl<R> Give<R> for Whole {
    type Value = R;

    #[inline]
    fn give(value: R) -> R {
        value
    }
}

/// The future of a traced function.
///
/// It is one future, which holds the body as it is and all else in boxes: that keeps it as small as
/// the body, and chains of calls short enough for the compiler. So the body itself is what starts
/// the run: it cannot be begun later, nor be a second future beside the one that starts it.
#[pin_project(PinnedDrop)]
pub struct Traced<F: Future, G> {
    #[pin]
    body: F,
    /// Must be dropped after the body; see [`Cancelling`].
    stage: Stage,
    gives: PhantomData<fn() -> G>,
}

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

    /// Ends the run with what came of its body.
    fn end<R: TraceReturn>(self, mut value: R) -> (R, Option<Pending>) {
        let Self::Running(open) = self else {
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
}

/// What is left to wait for when a run has ended.
struct Pending {
    client: Arc<Handle>,
    limit: Duration,
    handle: TraceHandle,
}

impl<R: TraceReturn, G: Give<R>, F: Future<Output = R>> Traced<F, G> {
    /// Waits, when the run has ended, until its memory exists.
    pub async fn until_learned(self) -> G::Value {
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
        G::give(value)
    }

    fn poll_end(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<(R, Option<Pending>)> {
        let mut this = self.project();
        loop {
            match this.stage {
                Stage::Untraced => {
                    let polled = this.body.as_mut().poll(cx);
                    match (polled, take_handed()) {
                        (Poll::Ready(value), _) => return Poll::Ready((value, None)),
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
                        Ok(polled) => polled.map(|value| this.stage.take().end(value)),
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

impl<R: TraceReturn, G: Give<R>, F: Future<Output = R>> Future for Traced<F, G> {
    type Output = G::Value;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<G::Value> {
        self.poll_end(cx).map(|(value, _)| G::give(value))
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
impl<F: Future, G> PinnedDrop for Traced<F, G> {
    fn drop(self: Pin<&mut Self>) {
        let stage = self.project().stage;
        // Whoever drops it before the run began, or after it ended, drops nothing of a run.
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

impl<F: Future, G> fmt::Debug for Traced<F, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Traced").finish_non_exhaustive()
    }
}

impl fmt::Debug for Begin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Begin").finish_non_exhaustive()
    }
}
