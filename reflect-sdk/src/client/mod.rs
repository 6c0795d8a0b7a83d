//! [`ReflectClient`] and its calls.

mod augment;
mod authored;
mod builder;
mod call;
mod idempotency;
mod keys;
mod memories;
mod project;
mod record;
mod skill;
mod traces;
mod wait;

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use reflect_types::ProjectId;

pub use self::augment::AugmentedTask;
pub use self::authored::StoreMemory;
pub use self::builder::ClientBuilder;
pub use self::call::{Async, Blocking, Call, CallContext, Operation};
pub use self::keys::{CreateKey, ListKeys, RevokeKey};
pub use self::memories::{Augment, Query};
pub use self::project::{BootstrapProject, DeleteProject, GetHealth};
pub use self::record::Record;
pub use self::skill::{GetSkill, WriteSkill};
pub use self::traces::{DeleteRecords, GetRecord, ListRecords, RetryRecord, ReviewRecorded};
pub use self::wait::{Patience, RecordAndWait, WaitForRecord};
use crate::error::Result;
use crate::transport::Transport;
use crate::worker::Worker;
use crate::worker::retry::{Repeat, RetryPolicy, with_retries};

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
    core: Arc<Core>,
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
            core: Arc::clone(&self.core),
            mode: PhantomData,
        }
    }

    fn with_core(core: Core) -> Self {
        Self {
            core: Arc::new(core),
            mode: PhantomData,
        }
    }
}

impl<M> ReflectClient<M> {
    /// The project that all calls are about.
    pub fn project(&self) -> &ProjectId {
        &self.core.project
    }

    fn call<O>(&self, operation: O) -> Call<O, M> {
        Call::new(Arc::clone(&self.core), operation)
    }
}

impl<M> Clone for ReflectClient<M> {
    fn clone(&self) -> Self {
        Self {
            core: Arc::clone(&self.core),
            mode: PhantomData,
        }
    }
}

impl<M> fmt::Debug for ReflectClient<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReflectClient")
            .field("project", &self.core.project)
            .field("transport", &self.core.transport)
            .finish_non_exhaustive()
    }
}

/// What all handles of a client share.
#[derive(Debug)]
pub(crate) struct Core {
    project: ProjectId,
    transport: Arc<dyn Transport>,
    worker: Worker,
    retry: RetryPolicy,
    /// How long a call may take, with all its attempts.
    deadline: Duration,
}

impl Core {
    /// Makes a call that may be repeated freely.
    async fn send<T, F>(&self, call: impl FnMut() -> F) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        with_retries(self.retry, self.deadline, Repeat::Freely, call).await
    }

    /// Makes a call that must not happen twice.
    async fn send_once<T, F>(&self, call: impl FnMut() -> F) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        with_retries(self.retry, self.deadline, Repeat::IfNotDone, call).await
    }
}
