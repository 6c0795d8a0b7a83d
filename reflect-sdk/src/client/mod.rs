//! [`ReflectClient`] and its calls.

#[cfg(feature = "macros")]
mod as_client;
#[cfg(feature = "flush-at-exit")]
mod at_exit;
mod augment;
mod authored;
mod builder;
mod call;
mod core;
mod idempotency;
mod keys;
mod lifetime;
mod memories;
mod project;
mod record;
#[cfg(any(feature = "flush-at-exit", feature = "panic-hook"))]
pub(crate) mod registry;
#[cfg(feature = "macros")]
mod scope;
mod skill;
mod traces;
mod wait;

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use reflect_types::ProjectId;

#[cfg(feature = "macros")]
pub use self::as_client::{AsClient, Installed, client};
pub use self::augment::AugmentedTask;
pub(crate) use self::augment::augmented;
pub use self::authored::StoreMemory;
pub use self::builder::ClientBuilder;
pub use self::call::{Async, Blocking, Call, CallContext, Operation};
pub(crate) use self::core::{Core, Settings};
pub(crate) use self::idempotency::idempotency_key;
pub use self::keys::{CreateKey, ListKeys, RevokeKey};
pub use self::lifetime::FlushGuard;
pub(crate) use self::lifetime::Handle;
pub use self::memories::{Augment, Query};
pub use self::project::{BootstrapProject, DeleteProject, GetHealth};
pub use self::record::Record;
#[cfg(feature = "macros")]
pub use self::scope::WithClient;
pub use self::skill::{GetSkill, WriteSkill};
pub use self::traces::{
    ChangeReview, DeleteRecords, GetRecord, ListRecords, RetryRecord, ReviewRecorded,
    WithdrawReview,
};
pub(crate) use self::wait::wait_for;
pub use self::wait::{Patience, RecordAndWait, WaitForRecord};
use crate::error::Result;

/// The way to Reflect: a cheap handle that can be cloned, shared and kept in a `static`.
///
/// Every call is a builder: set what you need, then `.await` it. [`blocking`](Self::blocking) gives
/// the same calls for code that is not async; they end in [`.call()`](Call::call). Neither needs a
/// runtime of yours.
///
/// ```no_run
/// use reflect_sdk::{Message, ReflectClient};
///
/// # async fn run() -> reflect_sdk::Result<()> {
/// let client = ReflectClient::from_env()?;
/// let augmented = client.augment_with_memories("Refund order 7").limit(3).await?;
/// let reply = my_agent(&augmented.augmented_task);
///
/// let messages = vec![Message::user(&augmented.augmented_task), Message::assistant(&reply)];
/// let trace = client
///     .create_trace_and_wait("Refund order 7", messages)
///     .retrieved(augmented.memory_ids())
///     .fail("Order 7 was outside the refund window")
///     .await?;
/// println!("learned {:?}", trace.created_memory_id);
/// # Ok(())
/// # }
/// # fn my_agent(prompt: &str) -> String { prompt.to_uppercase() }
/// ```
pub struct ReflectClient<M = Async> {
    handle: Arc<Handle>,
    mode: PhantomData<M>,
}

/// The same calls for code that is not async; see [`ReflectClient::blocking`].
pub type BlockingClient = ReflectClient<Blocking>;

impl ReflectClient {
    /// A client with settings of your own.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    /// A client for the server, the project and the key in `REFLECT_BASE_URL`,
    /// `REFLECT_PROJECT_ID` and `REFLECT_API_KEY`.
    ///
    /// A variable that is missing or empty is an error that names it.
    pub fn from_env() -> Result<Self> {
        Self::builder().env()
    }

    /// A client that does nothing: runs go on without memories and leave no trace, explicit calls are
    /// [`Error::Disabled`](crate::Error::Disabled), and no thread is started.
    pub fn disabled() -> Self {
        Self::with_core(Core::disabled())
    }

    /// The same calls, ending in [`.call()`](Call::call) instead of `.await`.
    ///
    /// They may be made anywhere, also inside an async function, where they hold up the thread
    /// until the answer is there.
    ///
    /// ```no_run
    /// # let client = reflect_sdk::ReflectClient::from_env()?;
    /// let memories = client.blocking().query_memories("Refund order 7").limit(3).call()?;
    /// # Ok::<(), reflect_sdk::Error>(())
    /// ```
    pub fn blocking(&self) -> BlockingClient {
        ReflectClient {
            handle: Arc::clone(&self.handle),
            mode: PhantomData,
        }
    }

    fn with_core(core: Core) -> Self {
        Self {
            handle: Arc::new(Handle::new(Arc::new(core))),
            mode: PhantomData,
        }
    }
}

impl<M> ReflectClient<M> {
    /// The project that all calls are about.
    pub fn project(&self) -> &ProjectId {
        &self.core().project
    }

    pub(crate) fn handle(&self) -> &Arc<Handle> {
        &self.handle
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        self.handle.core()
    }

    fn call<O>(&self, operation: O) -> Call<O, M> {
        Call::new(Arc::clone(&self.handle), operation)
    }
}

impl<M> Clone for ReflectClient<M> {
    fn clone(&self) -> Self {
        Self {
            handle: Arc::clone(&self.handle),
            mode: PhantomData,
        }
    }
}

impl<M> fmt::Debug for ReflectClient<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReflectClient")
            .field("project", &self.core().project)
            .field("transport", &self.core().transport())
            .finish_non_exhaustive()
    }
}
