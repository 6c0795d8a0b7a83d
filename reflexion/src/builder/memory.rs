use std::time::Duration;

use reflect_sdk::{ReflectClient, TraceBuilder};

use super::ReflexionBuilder;
use crate::bank::Persist;

/// Memory across runs (feature `memory`).
///
/// A loop uses one client: the last one given to [`recall`](Self::recall) or
/// [`persist`](Self::persist).
impl ReflexionBuilder {
    /// Shows every trial up to `limit` memories of earlier runs (1 to 100), ahead of the run's own
    /// reflections.
    ///
    /// They are retrieved once per run, before the first trial. If they do not arrive within the
    /// client's `retrieval_timeout`, the run continues without them, and
    /// [`Outcome::recall_error`](crate::Outcome::recall_error) says why.
    ///
    /// Inside a traced function, pass the trace's context to [`run`](crate::Reflexion::run)
    /// instead; its memories are then credited by the trace's review.
    pub fn recall<M>(mut self, client: &ReflectClient<M>, limit: u32) -> Self
    where
        M: Send + Sync + 'static,
    {
        self.bank.connect(client);
        self.bank.recall = Some(limit);
        self
    }

    /// Stores every run under its task, so that later runs can [`recall`](Self::recall) it.
    ///
    /// Traces are queued like those of a guard: sending is retried in the background, also after
    /// the run. The end of a run waits until its traces are stored and their memories exist, for up
    /// to [`persist_timeout`](Self::persist_timeout), so that the next run recalls them. Errors are
    /// in [`Outcome::persist_errors`](crate::Outcome::persist_errors); with
    /// [`strict_persist`](Self::strict_persist) they are errors of the run.
    ///
    /// A run that ends with an error or a panic is stored as failed. Of a run that is dropped, only
    /// trials that ended before are stored.
    pub fn persist<M>(mut self, client: &ReflectClient<M>, what: Persist) -> Self
    where
        M: Send + Sync + 'static,
    {
        self.bank.connect(client);
        self.bank.persist = Some(what);
        self
    }

    /// Sets options of the traces that the loop opens: how memories are retrieved, and what is
    /// stored with them.
    ///
    /// `blocking(false)` ends a run once its traces are stored, without waiting for their memories.
    ///
    /// ```
    /// # use reflect_sdk::ReflectClient;
    /// # use reflexion::{Attempt, Persist, Reflexion, ReflexionError};
    /// # let client = ReflectClient::disabled();
    /// let reflexion = Reflexion::builder(|attempt: Attempt| async move { attempt.prompt })
    ///     .evaluate_with(|trial| trial.answer().contains("refunded"))
    ///     .reflect_with(|_| "look up the order first")
    ///     .recall(&client, 5)
    ///     .persist(&client, Persist::Final)
    ///     .trace_options(|trace| {
    ///         trace
    ///             .lambda(0.3)
    ///             .metadata_filter("customer", "acme")
    ///             .metadata("customer", "acme")
    ///             .model("gpt-5.4-mini")
    ///     })
    ///     .build()?;
    /// # Ok::<(), ReflexionError>(())
    /// ```
    pub fn trace_options(
        mut self,
        options: impl Fn(TraceBuilder) -> TraceBuilder + Send + Sync + 'static,
    ) -> Self {
        self.bank.configure = Box::new(options);
        self
    }

    /// Sets how long the end of a run waits for its traces and memories; 5 s by default.
    pub fn persist_timeout(mut self, limit: Duration) -> Self {
        self.bank.timeout = limit;
        self
    }

    /// Sets whether a run whose traces are not stored in time ends with
    /// [`ReflexionError::Persist`](crate::ReflexionError::Persist); by default it does not.
    pub fn strict_persist(mut self, strict: bool) -> Self {
        self.bank.strict = strict;
        self
    }
}
