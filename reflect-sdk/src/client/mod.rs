//! [`ReflectClient`] and its calls.

mod admin;
#[cfg(feature = "macros")]
mod as_client;
mod augment;
mod builder;
mod call;
mod create_trace;
mod handle;
mod lifetime;
mod memories;
mod query;
mod review_run;
#[cfg(feature = "macros")]
mod scope;
mod traces;

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use reflect_types::{GetHealth, Operation, ProjectId};

pub use self::admin::{Admin, BootstrapProject, bootstrap};
#[cfg(feature = "macros")]
pub use self::as_client::{AsClient, Installed, client};
pub(crate) use self::augment::augmented;
pub use self::augment::{AugmentedTask, PromptStyle};
pub use self::builder::ClientBuilder;
pub use self::call::{Action, Async, Blocking, Call, CallContext};
pub(crate) use self::create_trace::idempotency_key;
pub use self::create_trace::{CreateTraceAndWait, WaitForTrace};
pub(crate) use self::handle::Handle;
pub use self::lifetime::FlushGuard;

pub use self::memories::{AugmentWithMemories, CreateMemory};
pub use self::query::QueryOptions;
pub(crate) use self::query::query_setters;
pub use self::review_run::ReviewRun;
pub(crate) use self::review_run::review_once_arrived;
#[cfg(feature = "macros")]
pub use self::scope::WithClient;
use crate::core::Core;

/// A client for the Reflect API. Cheap to clone.
///
/// Every call is a builder: set its options, then `.await` it. [`blocking`](Self::blocking) returns a
/// client with the same calls for code that is not async; they end in [`.call()`](Call::call). Neither
/// needs a runtime of yours.
///
/// Finished runs are sent in the background. When the process ends, by the end of `main` or by
/// [`exit`](std::process::exit), it waits for them for up to the
/// [`shutdown_timeout`](ClientBuilder::shutdown_timeout), wherever the client is kept.
///
/// ```no_run
/// use reflect_sdk::{Message, ReflectClient};
///
/// async fn refund(client: &ReflectClient) -> reflect_sdk::Result<()> {
///     let augmented = client.augment_with_memories("Refund order 7").limit(3).await?;
///     let reply = my_agent(&augmented.augmented_task);
///
///     let trace = client
///         .create_trace_and_wait("Refund order 7", vec![Message::assistant(&reply)])
///         .retrieved(augmented.memory_ids())
///         .fail("Order 7 was outside the refund window")
///         .await?;
///     println!("learned {:?}", trace.created_memory_id);
///     Ok(())
/// }
///
/// fn my_agent(prompt: &str) -> String {
///     prompt.to_uppercase()
/// }
/// ```
pub struct ReflectClient<M = Async> {
    handle: Arc<Handle>,
    mode: PhantomData<M>,
}

/// A client for code that is not async; see [`ReflectClient::blocking`].
pub type BlockingClient = ReflectClient<Blocking>;

impl ReflectClient {
    /// The same client with calls that end in [`.call()`](Call::call) instead of `.await`.
    ///
    /// They may be made anywhere. Inside an async function they block the thread until the reply
    /// arrives.
    ///
    /// ```no_run
    /// use reflect_sdk::{Memory, ReflectClient};
    ///
    /// fn recall(client: &ReflectClient) -> reflect_sdk::Result<Vec<Memory>> {
    ///     client.blocking().query_memories("Refund order 7").limit(3).call()
    /// }
    /// ```
    pub fn blocking(&self) -> BlockingClient {
        ReflectClient {
            handle: Arc::clone(&self.handle),
            mode: PhantomData,
        }
    }
}

impl<M> ReflectClient<M> {
    /// The project of all calls.
    pub fn project(&self) -> &ProjectId {
        &self.core().project
    }

    /// Calls any operation of the API by its request.
    ///
    /// ```no_run
    /// use reflect_sdk::ReflectClient;
    /// use reflect_sdk::types::GetMemory;
    ///
    /// async fn show(client: &ReflectClient) -> reflect_sdk::Result<()> {
    ///     let history = client.request(GetMemory::new("mem-1")).await?;
    ///     println!("{} events", history.events.len());
    ///     Ok(())
    /// }
    /// ```
    pub fn request<O: Operation + 'static>(&self, operation: O) -> Call<O, M> {
        self.call(operation)
    }

    /// Whether Reflect is up. It needs no key.
    pub fn health(&self) -> Call<GetHealth, M> {
        self.call(GetHealth)
    }

    pub(crate) fn handle(&self) -> &Arc<Handle> {
        &self.handle
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        self.handle.core()
    }

    fn call<A>(&self, action: A) -> Call<A, M> {
        Call::new(Arc::clone(&self.handle), action)
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
