//! Futures and streams within a run.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use pin_project::{pin_project, pinned_drop};

use super::context::TraceContext;

impl TraceContext {
    /// Makes a future a part of this run, wherever it is polled.
    pub fn scope<F: Future>(&self, future: F) -> InScope<F> {
        InScope::new(self, future)
    }

    /// Makes a stream a part of this run, wherever it is polled. To record what it says, see
    /// [`TraceGuard::record_text_stream`](super::TraceGuard::record_text_stream).
    pub fn scope_stream<S: Stream>(&self, stream: S) -> InScope<S> {
        InScope::new(self, stream)
    }
}

/// A future or a stream that is a part of a run; see [`TraceContext::scope`].
#[pin_project(PinnedDrop)]
#[derive(Debug)]
#[must_use = "it does nothing unless it is polled"]
pub struct InScope<T> {
    context: TraceContext,
    /// Only `drop` takes it out.
    #[pin]
    inner: Option<T>,
}

impl<T> InScope<T> {
    fn new(context: &TraceContext, inner: T) -> Self {
        Self {
            context: context.clone(),
            inner: Some(inner),
        }
    }
}

impl<F: Future> Future for InScope<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let _scope = this.context.enter();
        match this.inner.as_pin_mut() {
            Some(future) => future.poll(cx),
            None => Poll::Pending,
        }
    }
}

impl<S: Stream> Stream for InScope<S> {
    type Item = S::Item;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<S::Item>> {
        let this = self.project();
        let _scope = this.context.enter();
        match this.inner.as_pin_mut() {
            Some(stream) => stream.poll_next(cx),
            None => Poll::Ready(None),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.inner.as_ref().map_or((0, Some(0)), S::size_hint)
    }
}

#[pinned_drop]
impl<T> PinnedDrop for InScope<T> {
    fn drop(self: Pin<&mut Self>) {
        let mut this = self.project();
        // Destructors of what is within may start and end runs.
        let _scope = this.context.enter();
        this.inner.set(None);
    }
}
