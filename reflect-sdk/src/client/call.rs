use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use reflect_types::InvalidField;

use super::{Core, Handle};
use crate::error::Result;

/// A call that is being put together. It does nothing until it is awaited, or, on a blocking
/// client, until [`.call()`](Self::call).
///
/// `O` is what the call does; its options are methods of the `Call`.
#[must_use = "a call does nothing until it is awaited, or `.call()`ed on a blocking client"]
pub struct Call<O, M = Async> {
    /// A call may outlive the client it was made from, and keeps it open.
    handle: Arc<Handle>,
    pub(super) operation: O,
    mode: PhantomData<M>,
}

/// Marks clients whose calls are awaited.
#[derive(Clone, Copy, Debug)]
pub enum Async {}

/// Marks clients whose calls block; see [`ReflectClient::blocking`](super::ReflectClient::blocking).
#[derive(Clone, Copy, Debug)]
pub enum Blocking {}

/// What a call does, once it is made.
pub trait Operation: Send + 'static {
    /// What it gives back.
    type Output: Send + 'static;

    /// The first field that is out of range; then nothing is sent.
    fn check(&self) -> Result<(), InvalidField>;

    /// Does it, on the I/O thread.
    #[doc(hidden)]
    fn run(self, context: CallContext) -> impl Future<Output = Result<Self::Output>> + Send;

    /// How long it may wait beyond the deadline that every call has.
    #[doc(hidden)]
    fn patience(&self) -> Duration {
        Duration::ZERO
    }
}

/// What an operation works with.
#[derive(Clone, Debug)]
pub struct CallContext(pub(super) Arc<Core>);

impl<O, M> Call<O, M> {
    pub(super) fn new(handle: Arc<Handle>, operation: O) -> Self {
        Self {
            handle,
            operation,
            mode: PhantomData,
        }
    }

    /// Turns the call into another one, as `create_trace(…).wait()` does.
    pub(super) fn map<P>(self, into: impl FnOnce(O) -> P) -> Call<P, M> {
        Call::new(self.handle, into(self.operation))
    }

    /// Sets an option.
    pub(super) fn set(mut self, change: impl FnOnce(&mut O)) -> Self {
        change(&mut self.operation);
        self
    }
}

impl<O> Call<O, Async> {
    /// The same call for code that is not async.
    pub fn blocking(self) -> Call<O, Blocking> {
        Call::new(self.handle, self.operation)
    }
}

impl<O: Operation> IntoFuture for Call<O, Async> {
    type Output = Result<O::Output>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            self.handle.core().check_enabled()?;
            self.operation.check()?;
            let context = CallContext(Arc::clone(self.handle.core()));
            self.handle
                .core()
                .worker()
                .spawn(self.operation.run(context))?
                .await?
        })
    }
}

impl<O: Operation> Call<O, Blocking> {
    /// Makes the call and waits for the answer, for no longer than the client's deadline.
    pub fn call(self) -> Result<O::Output> {
        /// The I/O thread keeps the deadline; this only covers for a thread that is starved.
        const GRACE: Duration = Duration::from_secs(5);

        self.handle.core().check_enabled()?;
        self.operation.check()?;
        let deadline = self.handle.core().settings.deadline;
        let limit = deadline.saturating_add(self.operation.patience());
        let limit = limit.saturating_add(GRACE);
        let context = CallContext(Arc::clone(self.handle.core()));
        self.handle
            .core()
            .worker()
            .wait(self.operation.run(context), limit)
    }
}

impl<O: fmt::Debug, M> fmt::Debug for Call<O, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Call").field(&self.operation).finish()
    }
}
