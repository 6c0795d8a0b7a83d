//! What the expansion of `#[reflect_trace]` calls for a function that returns a stream.
//!
//! A body that returns a stream is not the whole run. So its end hands the run on, with the stream that the run
//! ends with.

use std::fmt::{self, Display};
use std::future::Future;
use std::marker::PhantomData;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use pin_project::pin_project;

use super::context::TraceContext;
use super::fold::{Each, EachOk, Fallible, Plain};
use super::future::{Learning, Slot, Traced, end};
use super::run::OpenRun;
use super::stream::RecordedStream;

/// What a body returns: a stream, a `Result` of one, or, of a function that is not async, a stream whose run may be
/// refused. `Kind` says which.
pub trait StreamReturn<Kind> {
    /// The same with the run.
    type Opened: Opened;

    /// Hands the run to the stream. Without a stream, ends it, which may set the memory to wait for.
    fn open(self, run: Option<Box<OpenRun>>, learning: &mut Option<Learning>) -> Self::Opened;
}

/// The kind of a stream whose run may be refused: the error is its only item.
#[derive(Debug)]
pub enum Lazy {}

impl<S: Stream> StreamReturn<Plain> for S {
    type Opened = RunAndStream<S>;

    fn open(self, run: Option<Box<OpenRun>>, _: &mut Option<Learning>) -> Self::Opened {
        RunAndStream { run, stream: self }
    }
}

impl<S: Stream, E: Display> StreamReturn<Fallible> for Result<S, E> {
    type Opened = Result<RunAndStream<S>, E>;

    fn open(self, run: Option<Box<OpenRun>>, learning: &mut Option<Learning>) -> Self::Opened {
        match self {
            Ok(stream) => Ok(RunAndStream { run, stream }),
            Err(error) => {
                let mut value = Err::<String, _>(&error);
                *learning = run.and_then(|run| end(*run, &mut value, |_| None));
                Err(error)
            }
        }
    }
}

impl<S: Stream> StreamReturn<Lazy> for Result<S, S::Item> {
    type Opened = Result<RunAndStream<S>, S::Item>;

    fn open(self, run: Option<Box<OpenRun>>, _: &mut Option<Learning>) -> Self::Opened {
        self.map(|stream| RunAndStream { run, stream })
    }
}

/// A stream that a body has returned, and its run.
#[derive(Debug)]
pub struct RunAndStream<S> {
    run: Option<Box<OpenRun>>,
    stream: S,
}

/// A stream with its run, or a `Result` of these.
pub trait Opened {
    /// The stream.
    type Stream;

    /// The same with another value in the place of the stream.
    type With<T>;

    /// Puts another value in the place of the stream.
    fn map<T>(self, to: impl FnOnce(RunAndStream<Self::Stream>) -> T) -> Self::With<T>;
}

impl<S> Opened for RunAndStream<S> {
    type Stream = S;
    type With<T> = T;

    fn map<T>(self, to: impl FnOnce(Self) -> T) -> T {
        to(self)
    }
}

impl<S, E> Opened for Result<RunAndStream<S>, E> {
    type Stream = S;
    type With<T> = Result<T, E>;

    fn map<T>(self, to: impl FnOnce(RunAndStream<S>) -> T) -> Result<T, E> {
        self.map(to)
    }
}

/// Makes a traced future of a body that starts its run with [`Slot::begin`] and returns a stream, or a `Result` of
/// one.
pub fn traced_stream<Kind, R: StreamReturn<Kind>, F: Future<Output = R>>(
    body: impl FnOnce(Slot) -> F,
) -> Traced<F, R::Opened> {
    Traced::new(
        body,
        |_| None,
        |run, value, _, learning| value.open(run, learning),
    )
}

/// Lets the run that a future opens end with its stream, which `wrap` turns into that of the signature.
pub fn recorded<T, K, V, W>(opening: T, fold: K, wrap: W) -> Opening<T, K, W>
where
    T: Future<Output: Opened>,
    W: FnOnce(RecordedStream<<T::Output as Opened>::Stream, K>) -> V,
{
    Opening {
        opening,
        rest: Some((fold, wrap)),
    }
}

/// The future of a recorded stream.
#[pin_project]
pub struct Opening<T, K, W> {
    #[pin]
    opening: T,
    /// `None` after its end.
    rest: Option<(K, W)>,
}

impl<T, K, V, W> Future for Opening<T, K, W>
where
    T: Future<Output: Opened>,
    W: FnOnce(RecordedStream<<T::Output as Opened>::Stream, K>) -> V,
{
    type Output = <T::Output as Opened>::With<V>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let opened = ready!(this.opening.poll(cx));
        match this.rest.take() {
            Some((fold, wrap)) => Poll::Ready(opened.map(|it| wrap(it.recorded(fold)))),
            None => Poll::Pending,
        }
    }
}

impl<S> RunAndStream<S> {
    fn recorded<K>(self, fold: K) -> RecordedStream<S, K> {
        RecordedStream::new(self.run, self.stream, fold)
    }
}

/// Runs a function that is not async, and lets its run end with the stream that it returns.
pub fn run_stream<Kind, R: StreamReturn<Kind>, K, V>(
    run: OpenRun,
    fold: K,
    wrap: impl FnOnce(RecordedStream<<R::Opened as Opened>::Stream, K>) -> V,
    body: impl FnOnce(TraceContext) -> R,
) -> <R::Opened as Opened>::With<V> {
    let (run, value) = run.call(body);
    let mut learning = None;
    let opened = value.open(Some(Box::new(run)), &mut learning);
    if let Some(learning) = learning {
        learning.wait_blocking();
    }
    opened.map(|it| wrap(it.recorded(fold)))
}

/// Makes a stream of a future of one, which is polled with the stream.
pub fn lazy_stream<T, S>(opening: T) -> impl Stream<Item = S::Item>
where
    T: Future<Output = Result<S, S::Item>>,
    S: Stream,
{
    LazyStream {
        stage: Stage::Opening(opening),
    }
}

/// A stream that opens its run when it is first polled.
#[pin_project]
struct LazyStream<T, S> {
    #[pin]
    stage: Stage<T, S>,
}

#[pin_project(project = StageProjection)]
enum Stage<T, S> {
    Opening(#[pin] T),
    Open(#[pin] S),
    Ended,
}

impl<T, S> Stream for LazyStream<T, S>
where
    T: Future<Output = Result<S, S::Item>>,
    S: Stream,
{
    type Item = S::Item;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<S::Item>> {
        let mut stage = self.project().stage;
        loop {
            let opening = match stage.as_mut().project() {
                StageProjection::Opening(opening) => opening,
                StageProjection::Open(stream) => return stream.poll_next(cx),
                StageProjection::Ended => return Poll::Ready(None),
            };
            // A stream may be polled after its end, a future may not.
            match catch_unwind(AssertUnwindSafe(|| opening.poll(cx))) {
                Ok(opened) => match ready!(opened) {
                    Ok(stream) => stage.set(Stage::Open(stream)),
                    Err(refusal) => {
                        stage.set(Stage::Ended);
                        return Poll::Ready(Some(refusal));
                    }
                },
                Err(payload) => {
                    stage.set(Stage::Ended);
                    resume_unwind(payload)
                }
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.stage {
            Stage::Opening(_) => (0, None),
            Stage::Open(stream) => stream.size_hint(),
            Stage::Ended => (0, Some(0)),
        }
    }
}

/// The value of `fold` for items of a type: a closure over the `Ok` of a `Result`, or over other items.
///
/// Method resolution takes `with` of this type for a `Result`, and that of [`FoldItem`] for other types.
#[derive(Debug)]
pub struct FoldOk<I>(FoldItem<I>);

/// The value of `fold` for items that are no `Result`.
#[derive(Debug)]
pub struct FoldItem<I>(PhantomData<fn(&I)>);

/// Takes the value of `fold` for items of a type.
pub fn folded<I>() -> FoldOk<I> {
    FoldOk(FoldItem(PhantomData))
}

impl<T, E> FoldOk<Result<T, E>> {
    /// Folds the `Ok` of each item.
    #[expect(clippy::unused_self, reason = "it is found by the type of `self`")]
    pub fn with<F: FnMut(&mut String, &T)>(&self, fold: F) -> EachOk<F, E>
    where
        E: Display,
    {
        EachOk::new(fold)
    }
}

impl<I> FoldItem<I> {
    /// Folds each item.
    #[expect(clippy::unused_self, reason = "it is found by the type of `self`")]
    pub fn with<F: FnMut(&mut String, &I)>(&self, fold: F) -> Each<F> {
        Each(fold)
    }
}

impl<I> Deref for FoldOk<I> {
    type Target = FoldItem<I>;

    fn deref(&self) -> &FoldItem<I> {
        &self.0
    }
}

impl<T, K, W> fmt::Debug for Opening<T, K, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opening").finish_non_exhaustive()
    }
}
