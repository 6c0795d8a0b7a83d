//! The client of the code below, for traced functions that name none.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project::pin_project;

use super::ReflectClient;
use super::as_client::note_that_there_is_one;

thread_local! {
    static IN_CHARGE: RefCell<Option<ReflectClient>> = const { RefCell::new(None) };
}

impl ReflectClient {
    /// Calls `body` with this client in charge: traced functions that name no client use it, before
    /// the [installed](Self::install) one. So each test can have its own.
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
        let _scope = self.take_charge();
        body()
    }

    /// Puts this client in charge of a future, wherever it is polled.
    pub fn scope<F: Future>(&self, future: F) -> WithClient<F> {
        WithClient {
            client: self.clone(),
            future,
        }
    }

    /// The client that is in charge of the calling code.
    pub(super) fn in_charge() -> Option<ReflectClient> {
        // Without a value only while the thread ends.
        IN_CHARGE
            .try_with(|client| client.borrow().clone())
            .ok()
            .flatten()
    }

    fn take_charge(&self) -> InCharge {
        note_that_there_is_one();
        InCharge(swap(Some(self.clone())))
    }
}

/// As long as it lives, a client is in charge. It holds the one before.
struct InCharge(Option<ReflectClient>);

impl Drop for InCharge {
    fn drop(&mut self) {
        drop(swap(self.0.take()));
    }
}

/// The old value is returned, so that it is not dropped while the cell is borrowed.
fn swap(client: Option<ReflectClient>) -> Option<ReflectClient> {
    IN_CHARGE
        .try_with(|current| current.replace(client))
        .ok()
        .flatten()
}

/// A future with a client in charge; see [`ReflectClient::scope`].
#[pin_project]
#[derive(Debug)]
pub struct WithClient<F> {
    client: ReflectClient,
    #[pin]
    future: F,
}

impl<F: Future> Future for WithClient<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let _scope = this.client.take_charge();
        this.future.poll(cx)
    }
}
