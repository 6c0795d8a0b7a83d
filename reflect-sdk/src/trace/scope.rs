//! The run that the current code belongs to.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project::{pin_project, pinned_drop};
use tracing::span::EnteredSpan;

use super::context::TraceContext;

thread_local! {
    static CURRENT: RefCell<Option<TraceContext>> = const { RefCell::new(None) };
}

/// The parent of a run that starts here: the current run, skipping those of disabled clients.
pub(super) fn parent() -> Option<TraceContext> {
    let current = TraceContext::current()?;
    if current.is_idle() {
        return current.parent().cloned();
    }
    Some(current)
}

impl TraceContext {
    /// The run that the calling code belongs to: the body of a traced function, of
    /// [`run`](super::TraceBuilder::run) or [`run_async`](super::TraceBuilder::run_async), or code put
    /// [in its scope](Self::in_scope).
    pub fn current() -> Option<TraceContext> {
        // Fails only while the thread ends.
        CURRENT
            .try_with(|current| current.borrow().clone())
            .ok()
            .flatten()
    }

    /// Calls `body` as a part of this run: [`current`](Self::current) returns this context there, and
    /// it is the parent of the runs that start there.
    pub fn in_scope<T>(&self, body: impl FnOnce() -> T) -> T {
        let _scope = self.enter();
        body()
    }

    /// Makes a future a part of this run, wherever it is polled.
    pub fn scope<F: Future>(&self, future: F) -> InScope<F> {
        InScope {
            context: self.clone(),
            future: Some(future),
        }
    }

    pub(super) fn enter(&self) -> Scope {
        let entered = self.span().map(|span| span.clone().entered());
        Scope {
            outer: swap(Some(self.clone())),
            _entered: entered,
        }
    }
}

/// Keeps a context current on this thread until it is dropped.
pub(super) struct Scope {
    outer: Option<TraceContext>,
    _entered: Option<EnteredSpan>,
}

impl Drop for Scope {
    fn drop(&mut self) {
        drop(swap(self.outer.take()));
    }
}

/// Returns the old value, so that it is not dropped while the cell is borrowed.
fn swap(context: Option<TraceContext>) -> Option<TraceContext> {
    CURRENT
        .try_with(|current| current.replace(context))
        .ok()
        .flatten()
}

/// A future that is a part of a run; see [`TraceContext::scope`].
#[pin_project(PinnedDrop)]
#[derive(Debug)]
pub struct InScope<F: Future> {
    context: TraceContext,
    #[pin]
    future: Option<F>,
}

impl<F: Future> Future for InScope<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let _scope = this.context.enter();
        match this.future.as_pin_mut() {
            Some(future) => future.poll(cx),
            // Only `drop` takes the future out.
            None => Poll::Pending,
        }
    }
}

#[pinned_drop]
impl<F: Future> PinnedDrop for InScope<F> {
    fn drop(self: Pin<&mut Self>) {
        let mut this = self.project();
        // Destructors of the future may start and end runs.
        let _scope = this.context.enter();
        this.future.set(None);
    }
}
