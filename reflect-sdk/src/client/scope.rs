//! The client in scope, for traced functions that name none.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project::{pin_project, pinned_drop};

use super::ReflectClient;

thread_local! {
    static SCOPED: RefCell<Option<ReflectClient>> = const { RefCell::new(None) };
}

impl ReflectClient {
    /// Calls `body` with this client in scope: traced functions that name no client use it before the
    /// [installed](Self::install) one. So each test can have its own.
    ///
    /// ```
    /// use reflect_sdk::{ReflectClient, TraceContext, reflect_trace};
    ///
    /// #[reflect_trace]
    /// fn shout(ctx: &TraceContext, question: &str) -> String {
    ///     ctx.augmented_task().to_uppercase()
    /// }
    /// assert_eq!(ReflectClient::disabled().in_scope(|| shout("why?")), "WHY?");
    /// ```
    pub fn in_scope<T>(&self, body: impl FnOnce() -> T) -> T {
        let _scope = self.enter();
        body()
    }

    /// Polls a future with this client in scope.
    pub fn scope<F: Future>(&self, future: F) -> WithClient<F> {
        WithClient {
            client: self.clone(),
            future: Some(future),
        }
    }

    /// The client in scope.
    pub(super) fn scoped() -> Option<ReflectClient> {
        // Without a value only while the thread ends.
        SCOPED
            .try_with(|client| client.borrow().clone())
            .ok()
            .flatten()
    }

    fn enter(&self) -> Scope {
        Scope(swap(Some(self.clone())))
    }
}

/// Keeps a client in scope, and holds the previous one.
struct Scope(Option<ReflectClient>);

impl Drop for Scope {
    fn drop(&mut self) {
        drop(swap(self.0.take()));
    }
}

/// The old value is returned, so that it is not dropped while the cell is borrowed.
fn swap(client: Option<ReflectClient>) -> Option<ReflectClient> {
    SCOPED
        .try_with(|current| current.replace(client))
        .ok()
        .flatten()
}

/// A future with a client in scope; see [`ReflectClient::scope`].
#[pin_project(PinnedDrop)]
#[derive(Debug)]
pub struct WithClient<F> {
    client: ReflectClient,
    /// Only `drop` takes it out.
    #[pin]
    future: Option<F>,
}

impl<F: Future> Future for WithClient<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let _scope = this.client.enter();
        match this.future.as_pin_mut() {
            Some(future) => future.poll(cx),
            None => Poll::Pending,
        }
    }
}

#[pinned_drop]
impl<F> PinnedDrop for WithClient<F> {
    fn drop(self: Pin<&mut Self>) {
        let mut this = self.project();
        // Destructors of the future may call traced functions.
        let _scope = this.client.enter();
        this.future.set(None);
    }
}
