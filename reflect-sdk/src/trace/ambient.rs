//! Which run the current code belongs to.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project::{pin_project, pinned_drop};
use tracing::span::EnteredSpan;

use super::context::TraceContext;

thread_local! {
    static CURRENT: RefCell<Option<TraceContext>> = const { RefCell::new(None) };
    /// Whether something may be recorded of it, or of one around it. Apart, because it is looked at
    /// by calls that may cost next to nothing.
    static IS_WITHIN: Cell<bool> = const { Cell::new(false) };
}

/// Whether the calling code belongs to a run of which something may be recorded.
#[cfg(feature = "macros")]
#[inline]
pub(super) fn is_within_a_run() -> bool {
    IS_WITHIN.get()
}

impl TraceContext {
    /// The run that the calling code belongs to: the closure of [`run`](super::TraceBuilder::run),
    /// or whatever was put [in its scope](Self::in_scope).
    pub fn current() -> Option<TraceContext> {
        // Without a value only while the thread ends.
        CURRENT
            .try_with(|current| current.borrow().clone())
            .ok()
            .flatten()
    }

    /// Calls `body` as a part of this run: [`current`](Self::current) gives this context there, and
    /// runs that start there have it as their parent.
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

/// As long as it lives, a context is the current one. It stays on its thread.
pub(super) struct Scope {
    outer: Option<TraceContext>,
    _entered: Option<EnteredSpan>,
}

impl Drop for Scope {
    fn drop(&mut self) {
        drop(swap(self.outer.take()));
    }
}

/// The old value is returned, so that it is not dropped while the cell is borrowed.
pub(super) fn swap(context: Option<TraceContext>) -> Option<TraceContext> {
    // The parent of a run of a disabled client is never one of those itself.
    let recorded = |context: &TraceContext| !context.is_idle() || context.parent().is_some();
    IS_WITHIN.set(context.as_ref().is_some_and(recorded));
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
            // It is only taken out when this is dropped.
            None => Poll::Pending,
        }
    }
}

#[pinned_drop]
impl<F: Future> PinnedDrop for InScope<F> {
    fn drop(self: Pin<&mut Self>) {
        let mut this = self.project();
        // What the future owns may end runs, or start some.
        let _scope = this.context.enter();
        this.future.set(None);
    }
}
