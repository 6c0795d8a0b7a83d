//! The future of a function under `#[reflect_trace]`.

use std::cell::Cell;
use std::fmt;
use std::future::Future;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
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
use super::traced::{Gives, Shown, Start};
use crate::client::Handle;
use crate::error::{Error, Result};

/// Makes a future of the body of a traced function, which gives its output. The body says by
/// [`begin`] which run it is.
pub fn traced<R: Gives<V>, V, F: Future<Output = R>>(body: F) -> Traced<F, V> {
    Traced {
        body,
        stage: Stage::Untraced,
        end: |ran, value| {
            if let Ran::Untraced = ran {
                return (value.give(), None);
            }
            let (value, pending) = end(ran, value);
            (value.give(), pending)
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

type End<R, V> = fn(Ran, R) -> (V, Option<Pending>);

/// As what a body ran to its end.
enum Ran {
    Run(Box<Open>),
    Idle,
    Untraced,
}

enum Stage {
    Untraced,
    Starting(Pin<Box<dyn Future<Output = Result<Open>> + Send>>),
    Running(Box<Open>),
    /// The client is disabled, but the body is shown a context.
    Idle(TraceContext),
    Cancelling(#[expect(dead_code, reason = "is there to be dropped")] Cancelling),
    Ended,
}

impl Stage {
    fn of(Asked { start, strictly }: Asked) -> Self {
        match start {
            Shown::Idle(context) => Self::Idle(context),
            Shown::Run(Start(builder)) if strictly => {
                Self::Starting(Box::pin(builder.strict().open()))
            }
            Shown::Run(Start(builder)) => {
                Self::Starting(Box::pin(async move { Ok(builder.open().await) }))
            }
        }
    }

    fn take(&mut self) -> Self {
        mem::replace(self, Self::Ended)
    }

    /// A run goes on until the body has been dropped, which is next.
    #[inline(never)]
    fn cancel(&mut self) {
        if let Self::Running(open) = self.take() {
            *self = Self::Cancelling(Cancelling::new(open));
        }
    }

    /// As what the body ran.
    fn ran(self) -> Ran {
        match self {
            Self::Running(open) => Ran::Run(open),
            Self::Idle(_) => Ran::Idle,
            _ => Ran::Untraced,
        }
    }
}

fn end<R: TraceReturn>(ran: Ran, mut value: R) -> (R, Option<Pending>) {
    let Ran::Run(open) = ran else {
        value.attach(TraceHandle::disabled());
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

impl Pending {
    async fn wait(self) {
        Open::wait(&self.client, self.limit, &self.handle).await;
    }
}

impl<F: Future, V> Traced<F, V> {
    /// Waits, when the run has ended, until its memory exists.
    pub fn until_learned(self) -> UntilLearned<F, V> {
        UntilLearned {
            traced: self,
            learning: None,
        }
    }

    #[inline]
    fn poll_end(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<(V, Option<Pending>)> {
        let this = self.as_mut().project();
        if let Stage::Untraced = this.stage {
            if let Poll::Ready(value) = this.body.poll(cx) {
                return Poll::Ready((this.end)(Ran::Untraced, value));
            }
            match take_handed() {
                Some(Handed::ToFuture(asked)) => *this.stage = Stage::of(asked),
                _ => return Poll::Pending,
            }
        }
        self.poll_run(cx)
    }

    /// Kept out of the way of bodies that are not traced.
    #[inline(never)]
    fn poll_run(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<(V, Option<Pending>)> {
        let mut this = self.as_mut().project();
        if let Stage::Starting(start) = this.stage {
            match ready!(start.as_mut().poll(cx)) {
                Ok(open) => *this.stage = Stage::Running(Box::new(open)),
                Err(refused) => {
                    hand_over(Handed::ToBody(Box::new(refused)));
                    *this.stage = Stage::Untraced;
                    return self.poll_end(cx);
                }
            }
        }
        let context = match this.stage {
            Stage::Running(open) => &open.context,
            Stage::Idle(context) => context,
            // Polled again after its end, which no caller may do.
            _ => return Poll::Pending,
        };
        let scope = context.enter();
        let polled = catch_unwind(AssertUnwindSafe(|| this.body.as_mut().poll(cx)));
        drop(scope);
        match polled {
            Ok(polled) => polled.map(|value| (this.end)(this.stage.take().ran(), value)),
            Err(payload) => {
                if let Ran::Run(open) = this.stage.take().ran() {
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
        self.poll_end(cx).map(|(value, _)| value)
    }
}

/// The future of a traced function that waits for its memory. An `async fn` would hold the traced
/// future twice.
#[pin_project]
pub struct UntilLearned<F: Future, V> {
    #[pin]
    traced: Traced<F, V>,
    /// What callers get once the wait is over.
    learning: Option<(V, Wait)>,
}

type Wait = Pin<Box<dyn Future<Output = ()> + Send>>;

impl<F: Future, V> Future for UntilLearned<F, V> {
    type Output = V;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<V> {
        let this = self.project();
        let learning = match this.learning {
            Some(learning) => learning,
            None => match ready!(this.traced.poll_end(cx)) {
                (value, None) => return Poll::Ready(value),
                (value, Some(pending)) => this.learning.insert((value, Box::pin(pending.wait()))),
            },
        };
        ready!(learning.1.as_mut().poll(cx));
        match this.learning.take() {
            Some((value, _)) => Poll::Ready(value),
            // It is there, as it was polled right now.
            None => Poll::Pending,
        }
    }
}

/// What the body asks of the future that holds it.
struct Asked {
    start: Shown<Start>,
    strictly: bool,
}

enum Handed {
    ToFuture(Asked),
    ToBody(Box<Error>),
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
#[inline]
pub fn begin(start: Option<Start>) -> Begin {
    Begin(start.map(|start| Asked {
        start: Shown::Run(start),
        strictly: false,
    }))
}

/// Becomes the run.
pub fn begin_shown(start: Shown<Start>) -> Begin {
    let strictly = false;
    Begin(Some(Asked { start, strictly }))
}

/// Becomes the run, if there is to be one, and if its memories come.
pub async fn begin_strictly(start: Option<Start>) -> Result<()> {
    match start {
        Some(start) => begin_shown_strictly(Shown::Run(start)).await,
        None => Ok(()),
    }
}

/// Becomes the run, if its memories come.
pub async fn begin_shown_strictly(start: Shown<Start>) -> Result<()> {
    let strictly = true;
    Begin(Some(Asked { start, strictly })).await;
    match take_handed() {
        Some(Handed::ToBody(refused)) => Err(*refused),
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
        if let Stage::Running(_) = stage {
            stage.cancel();
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
        if let Some(span) = open.context.span() {
            // By hand, because what `Span::enter` gives could not be kept in a future that is sent.
            span.with_subscriber(|(id, subscriber)| subscriber.enter(id));
        }
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
            if let Some(span) = open.context.span() {
                span.with_subscriber(|(id, subscriber)| subscriber.exit(id));
            }
            open.end(Ending::Cancelled);
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

impl fmt::Debug for Begin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Begin").finish_non_exhaustive()
    }
}
