use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use reflect_types::{InvalidField, Operation};

use super::handle::Handle;
use crate::core::Core;
use crate::error::Result;

/// A call under construction. It does nothing until it is awaited or, on a blocking client, until
/// [`.call()`](Self::call).
///
/// `A` is what the call does: a request of the table of operations, such as
/// [`GetTrace`](crate::types::GetTrace), or one of the composite calls in this module. Its options
/// are methods of the `Call`.
#[must_use = "a call does nothing until it is awaited, or `.call()`ed on a blocking client"]
pub struct Call<A, M = Async> {
    /// A call may outlive the client it was made from, and keeps it open.
    handle: Arc<Handle>,
    action: A,
    mode: PhantomData<M>,
}

/// Marks a client whose calls are awaited.
#[derive(Clone, Copy, Debug)]
pub enum Async {}

/// Marks a client whose calls block; see [`ReflectClient::blocking`](crate::ReflectClient::blocking).
#[derive(Clone, Copy, Debug)]
pub enum Blocking {}

/// What a call does: any [`Operation`], or several in a row.
pub trait Action: Send + 'static {
    /// What a successful call returns.
    type Output: Send + 'static;

    /// The first field that is out of range. Nothing is sent then.
    fn check(&self) -> Result<(), InvalidField>;

    /// Carries out the call on the I/O thread.
    #[doc(hidden)]
    fn run(self, context: CallContext) -> impl Future<Output = Result<Self::Output>> + Send;

    /// The time that it may take beyond the deadline of every call.
    #[doc(hidden)]
    fn extra_time(&self) -> Duration {
        Duration::ZERO
    }
}

impl<O: Operation + 'static> Action for O {
    type Output = O::Reply;

    fn check(&self) -> Result<(), InvalidField> {
        self.validate()
    }

    async fn run(self, CallContext(core): CallContext) -> Result<O::Reply> {
        core.call(self).await
    }
}

/// The client that an [`Action`] works with.
#[derive(Clone, Debug)]
pub struct CallContext(pub(super) Arc<Core>);

impl<A, M> Call<A, M> {
    pub(super) fn new(handle: Arc<Handle>, action: A) -> Self {
        Self {
            handle,
            action,
            mode: PhantomData,
        }
    }

    /// Turns the call into another one.
    pub(super) fn map<B>(self, into: impl FnOnce(A) -> B) -> Call<B, M> {
        Call::new(self.handle, into(self.action))
    }

    /// Sets an option.
    pub(super) fn set(mut self, change: impl FnOnce(&mut A)) -> Self {
        change(&mut self.action);
        self
    }
}

/// Declares the options of a call, which set fields of its request.
macro_rules! options {
    (
        $request:ty, $fields:ident:
        $($(#[$meta:meta])* $name:ident($($value:ident: $type:ty)?) => $set:expr;)+
    ) => {
        impl<M> Call<$request, M> {$(
            $(#[$meta])*
            pub fn $name(self $(, $value: $type)?) -> Self {
                self.set(|$fields| $set)
            }
        )+}
    };
}

pub(super) use options;

impl<A> Call<A, Async> {
    /// The same call for code that is not async.
    pub fn blocking(self) -> Call<A, Blocking> {
        Call::new(self.handle, self.action)
    }
}

impl<A: Action> IntoFuture for Call<A, Async> {
    type Output = Result<A::Output>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let core = self.handle.core();
            core.transport()?;
            self.action.check()?;
            let context = CallContext(Arc::clone(core));
            core.worker().spawn(self.action.run(context))?.await?
        })
    }
}

impl<A: Action> Call<A, Blocking> {
    /// Makes the call and waits for the reply, for at most the client's deadline.
    pub fn call(self) -> Result<A::Output> {
        let core = self.handle.core();
        core.transport()?;
        self.action.check()?;
        let limit = core.settings.deadline;
        let limit = limit.saturating_add(self.action.extra_time());
        let context = CallContext(Arc::clone(core));
        core.worker().wait(self.action.run(context), limit)
    }
}

impl<A: fmt::Debug, M> fmt::Debug for Call<A, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Call").field(&self.action).finish()
    }
}
