use std::sync::Arc;
use std::time::Duration;

use reflect_types::{Memory, QueryMemories, Validate};
use tokio::time::timeout;

use super::{ConfigError, ReflexionBuilder};
use crate::ReflectClient;
use crate::client::Handle;
use crate::core::Cause;
use crate::error::{Error, Result};

impl ReflexionBuilder {
    /// Shows every trial what earlier runs taught: up to `limit` memories of the client's project
    /// (1 to 100), ahead of what the run itself has learned.
    ///
    /// They are asked for once a run, before the first trial. Where they do not come within the
    /// client's [`retrieval_timeout`](crate::ClientBuilder::retrieval_timeout), the run goes on
    /// without; [`Outcome::recall_error`](super::Outcome::recall_error) says why.
    ///
    /// Inside of a traced run, use its
    /// [`augmented_task`](crate::TraceContext::augmented_task) instead: then its review credits the
    /// memories.
    pub fn recall<M>(mut self, client: &ReflectClient<M>, limit: u32) -> Self {
        self.config.recall = Some(Recall {
            client: Arc::clone(client.handle()),
            limit,
        });
        self
    }
}

/// Where a run gets its memories from.
#[derive(Clone)]
pub(super) struct Recall {
    client: Arc<Handle>,
    limit: u32,
}

impl Recall {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        match self.limit {
            1..=QueryMemories::MAX_LIMIT => Ok(()),
            limit => Err(ConfigError::RecallLimit(limit)),
        }
    }

    /// The memories for a task, or why there are none.
    pub(super) async fn fetch(&self, task: &str) -> Result<Vec<Memory>> {
        let core = self.client.core();
        if !core.is_enabled() {
            return Ok(Vec::new());
        }
        let fetched = self.ask(task, core.settings.retrieval_timeout).await;
        if let Err(error) = &fetched {
            core.counters.retrievals_failed.add_one();
            core.notices.warn(
                Cause::Retrieval,
                format_args!("a Reflexion run starts without memories: {error}"),
            );
        }
        fetched
    }

    async fn ask(&self, task: &str, limit: Duration) -> Result<Vec<Memory>> {
        let mut query = QueryMemories::new(task);
        query.limit = self.limit;
        query.validate()?;
        let core = Arc::clone(self.client.core());
        // On the client's own thread, because only there a clock is certain.
        let asking = self.client.core().worker().spawn(async move {
            let answer = core.call(query);
            timeout(limit, answer).await
        });
        asking?.await?.unwrap_or_else(|_| {
            Err(Error::Timeout {
                what: "asking for memories".to_owned(),
                after: limit,
            })
        })
    }
}
