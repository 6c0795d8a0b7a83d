//! A run that ends with a stream.

use std::any::Any;
use std::fmt::{self, Display};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use pin_project::{pin_project, pinned_drop};

use super::context::Scope;
use super::failure::Conclusion;
use super::fold::{Each, EachOk, Fold, StreamText, is_cut, joined};
use super::future::{BoxFuture, Learning};
use super::guard::TraceGuard;
use super::output::{TraceOutput, TraceRecord};
use super::panics::{forget_handled, message};
use super::run::{Ending, OpenRun};
use crate::core::Cause;

/// # Streams
///
/// The stream has the items of the given one, and the run ends with it. Polling it is a part of the run, as in
/// [`scope_stream`](super::TraceContext::scope_stream). The text of its items is the final response, and the
/// trajectory if there are no messages, unless [`set_output`](super::TraceContext::set_output) says otherwise. It
/// is cut after 512 KiB.
///
/// | the stream | the run |
/// |---|---|
/// | ends | is recorded, with the verdict of `set_output` or none |
/// | had an `Err` | is failed, with the first one as feedback; with `record_stream` the fold sees it instead |
/// | panics | is failed, with the panic's message as feedback; the panic continues |
/// | is dropped before its end | is recorded as [`on_cancel`](super::TraceBuilder::on_cancel) says, with the text so far |
///
/// If the fold panics, the stream goes on unharmed: the run has the text before that, and the message in the
/// metadata `fold_panicked`.
impl TraceGuard {
    /// Records a stream of texts, or of `Result`s of texts.
    ///
    /// ```no_run
    /// use futures_util::{Stream, StreamExt};
    /// use reflect_sdk::ReflectClient;
    ///
    /// async fn answer(client: &ReflectClient, question: &str) -> impl Stream<Item = String> + use<> {
    ///     let run = client.trace(question).await;
    ///     let tokens = run.in_scope(|| my_agent(run.augmented_task()));
    ///     run.record_text_stream(tokens)
    /// }
    ///
    /// fn my_agent(task: &str) -> impl Stream<Item = String> + use<> {
    ///     futures_util::stream::iter([task.to_uppercase()])
    /// }
    /// ```
    pub fn record_text_stream<S, Shape>(self, stream: S) -> impl Stream<Item = S::Item>
    where
        S: Stream,
        S::Item: StreamText<Shape>,
    {
        RecordedStream::new(self.into_run(), stream, joined())
    }

    /// Records a stream of `Result`s, of which `fold` adds each `Ok` to the text.
    ///
    /// ```no_run
    /// use futures_util::{Stream, StreamExt};
    /// use reflect_sdk::TraceGuard;
    ///
    /// /// What a framework yields.
    /// struct Chunk {
    ///     delta: Option<String>,
    /// }
    ///
    /// fn recorded<E: std::fmt::Display>(
    ///     run: TraceGuard,
    ///     chunks: impl Stream<Item = Result<Chunk, E>>,
    /// ) -> impl Stream<Item = Result<Chunk, E>> {
    ///     run.record_try_stream(chunks, |text, chunk| {
    ///         text.push_str(chunk.delta.as_deref().unwrap_or_default());
    ///     })
    /// }
    /// ```
    pub fn record_try_stream<S, T, E, F>(self, stream: S, fold: F) -> impl Stream<Item = S::Item>
    where
        S: Stream<Item = Result<T, E>>,
        E: Display,
        F: FnMut(&mut String, &T),
    {
        RecordedStream::new(self.into_run(), stream, EachOk::new(fold))
    }

    /// Records a stream of which `fold` adds each item to the text. An `Err` is an item as any other.
    pub fn record_stream<S, F>(self, stream: S, fold: F) -> impl Stream<Item = S::Item>
    where
        S: Stream,
        F: FnMut(&mut String, &S::Item),
    {
        RecordedStream::new(self.into_run(), stream, Each(fold))
    }
}

/// A stream that ends its run.
#[pin_project(PinnedDrop)]
pub struct RecordedStream<S, K> {
    /// `None` after its end.
    #[pin]
    stream: Option<S>,
    recording: Recording<K>,
    /// The wait for the memory, after the end.
    learning: Option<BoxFuture<()>>,
}

impl<S, K> RecordedStream<S, K> {
    pub(super) fn new(run: Option<Box<OpenRun>>, stream: S, fold: K) -> Self {
        Self {
            stream: Some(stream),
            recording: Recording {
                run,
                text: String::new(),
                failure: None,
                fold: Ok(fold),
            },
            learning: None,
        }
    }
}

impl<S: Stream, K: Fold<S::Item>> Stream for RecordedStream<S, K> {
    type Item = S::Item;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<S::Item>> {
        let mut this = self.project();
        if let Some(stream) = this.stream.as_mut().as_pin_mut() {
            let scope = this.recording.enter();
            let mut polled = catch_unwind(AssertUnwindSafe(|| stream.poll_next(cx)));
            if let Ok(Poll::Ready(None)) | Err(_) = polled {
                // Its destructors are a part of the run: spans that it holds close here.
                let dropped = catch_unwind(AssertUnwindSafe(|| this.stream.set(None)));
                polled = polled.and_then(|ended| dropped.map(|()| ended));
            }
            drop(scope);
            match polled {
                Ok(Poll::Ready(None)) => {
                    let learning = this.recording.end(&End::Whole);
                    *this.learning = learning.map(|learning| Box::pin(learning.wait()) as _);
                }
                Ok(polled) => {
                    if let Poll::Ready(Some(item)) = &polled {
                        this.recording.add(item);
                    }
                    return polled;
                }
                Err(payload) => {
                    this.recording.end(&End::Panic(&*payload));
                    resume_unwind(payload)
                }
            }
        }
        if let Some(learning) = this.learning {
            ready!(learning.as_mut().poll(cx));
            *this.learning = None;
        }
        Poll::Ready(None)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.stream.as_ref().map_or((0, Some(0)), S::size_hint)
    }
}

#[pinned_drop]
impl<S, K> PinnedDrop for RecordedStream<S, K> {
    fn drop(self: Pin<&mut Self>) {
        let mut this = self.project();
        // Destructors of the stream may start and end runs. The recording ends even if they panic.
        let _scope = this.recording.enter();
        this.stream.set(None);
    }
}

impl<S, K> fmt::Debug for RecordedStream<S, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordedStream").finish_non_exhaustive()
    }
}

/// The run of a stream and its text so far.
struct Recording<K> {
    /// `None` after its end.
    run: Option<Box<OpenRun>>,
    text: String,
    /// The first error among the items.
    failure: Option<Box<TraceRecord>>,
    /// Once it has panicked, the message of that.
    fold: Result<K, String>,
}

/// How a stream ended.
enum End<'a> {
    Whole,
    Panic(&'a (dyn Any + Send)),
    Dropped,
}

impl<K> Recording<K> {
    fn enter(&self) -> Option<Scope> {
        self.run.as_ref().map(|run| run.context.enter())
    }

    fn add<I>(&mut self, item: &I)
    where
        K: Fold<I>,
    {
        let (Some(run), Ok(fold)) = (&self.run, &mut self.fold) else {
            return;
        };
        if run.context.is_idle() {
            return;
        }
        match catch_unwind(AssertUnwindSafe(|| fold.add(&mut self.text, item))) {
            Ok(Ok(())) => {}
            Ok(Err(failure)) => {
                self.failure.get_or_insert(failure);
            }
            Err(payload) => {
                forget_handled();
                let message = message(&*payload);
                let notices = &run.client.core().notices;
                notices.warn(
                    Cause::Fold,
                    format_args!(
                        "a run is recorded with a part of its text: its `fold` panicked: {message}"
                    ),
                );
                self.fold = Err(message);
            }
        }
    }

    /// Ends the run, once. Returns the memory to wait for.
    fn end(&mut self, end: &End<'_>) -> Option<Learning> {
        let run = self.run.take()?;
        if run.context.is_idle() {
            return None;
        }
        let Conclusion { output, error } = run.context.take_conclusion();
        let mut said = output.unwrap_or_default();
        if !self.text.is_empty() || matches!(end, End::Whole) {
            let text = TraceOutput::text(&self.text);
            said = text.completed(said, run.context.has_recorded());
        }
        if let Err(message) = &self.fold {
            said = said.metadata("fold_panicked", message.as_str());
        }
        if is_cut(&self.text) {
            let what =
                "a run is recorded without a part that is over its limit: the text of its stream";
            run.client.core().notices.warn(Cause::Shortened, what);
        }
        run.context
            .conclude(|conclusion| conclusion.output = Some(said));
        let failure = self.failure.take().map(|failure| Ending::from(*failure));
        let failure = failure.or_else(|| {
            Some(Ending::Failed {
                cause: error?,
                output: None,
            })
        });
        Learning::after(*run, |run| match (end, failure) {
            (End::Panic(payload), _) => run.end_panicked(*payload),
            (_, Some(failure)) => run.end(failure),
            (End::Whole, None) => run.end(Ending::Output(TraceOutput::recorded())),
            (End::Dropped, None) => run.end(Ending::Cancelled),
        })
    }
}

impl<K> Drop for Recording<K> {
    fn drop(&mut self) {
        self.end(&End::Dropped);
    }
}
