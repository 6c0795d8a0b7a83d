//! The handle to a running engine, and its shutdown.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reflect_types::{KeyId, ProjectId, Ranking, Validate};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use crate::core::Core;
use crate::error::Result;
use crate::model::Extractive;

/// A Reflect engine: stores traces, learns from their reviews and retrieves memories.
///
/// A cheap handle: clones share one engine, which stops when the last of them is dropped.
#[derive(Clone)]
pub struct Engine {
    shared: Arc<Shared>,
    /// Whether writes through this handle create missing projects.
    creates_projects: bool,
    /// The API key that traces and reviews through this handle name.
    key: Option<KeyId>,
    /// Whether this handle deletes only traces that its key has recorded.
    deletes_own_only: bool,
    /// Whether this handle deletes only memories that its key has taught.
    deletes_own_memories_only: bool,
}

struct Shared {
    core: Arc<Core>,
    background: Mutex<Vec<JoinHandle<()>>>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        // Background tasks hold the core, not this, so they end with the last handle.
        self.core.stopping.send_replace(true);
    }
}

impl Engine {
    pub(super) fn new(core: Arc<Core>, background: Vec<JoinHandle<()>>) -> Self {
        let background = Mutex::new(background);
        Self {
            shared: Arc::new(Shared { core, background }),
            creates_projects: true,
            key: None,
            deletes_own_only: false,
            deletes_own_memories_only: false,
        }
    }

    /// The learning rate of reviews that do not set one.
    pub fn default_alpha(&self) -> f64 {
        self.core().alpha
    }

    /// The ranking of queries in a project that sets none.
    pub fn default_ranking(&self) -> &Ranking {
        &self.core().ranking
    }

    /// The lowest similarity of queries that set none.
    pub fn similarity_floor(&self) -> f64 {
        self.core().floor.similarity()
    }

    /// Whether memories keep values that identify a person or a case in a project that does not say: see
    /// [`Builder::keep_personal_values`](crate::Builder::keep_personal_values).
    pub fn keeps_personal_values(&self) -> bool {
        self.core().keep_personal_values
    }

    /// The same engine for a caller that must not create projects: a write to a missing project is
    /// [`Error::NoProject`](crate::Error::NoProject).
    #[must_use]
    pub fn in_existing_projects(&self) -> Self {
        Self {
            creates_projects: false,
            ..self.clone()
        }
    }

    /// The same engine for the holder of an API key, which its traces and reviews name.
    #[must_use]
    pub fn acting_for(&self, key: KeyId) -> Self {
        Self {
            key: Some(key),
            ..self.clone()
        }
    }

    /// The same engine for a caller that may delete only the traces it has recorded: any other is
    /// [`Error::OthersTrace`](crate::Error::OthersTrace).
    #[must_use]
    pub fn deleting_own_traces_only(&self) -> Self {
        Self {
            deletes_own_only: true,
            ..self.clone()
        }
    }

    /// The same engine for a caller that deletes, with the traces, only the memories that its key has
    /// taught in every review of them. Others stay.
    #[must_use]
    pub fn deleting_own_memories_only(&self) -> Self {
        Self {
            deletes_own_memories_only: true,
            ..self.clone()
        }
    }

    /// Stops the engine. Work in progress is finished, or handed back after a grace period; then
    /// the store is closed. Further calls on any clone fail.
    pub async fn shutdown(&self) -> Result<()> {
        self.core().stopping.send_replace(true);
        // Locked to the end: a second caller must not close the store while tasks still run.
        let mut background = self.shared.background.lock().await;
        while let Some(task) = background.last_mut() {
            if let Err(error) = task.await {
                tracing::error!(%error, "a background task did not end as it should");
            }
            background.pop();
        }
        let mut calls = self.core().calls.subscribe();
        // The sender is in the core, so the channel is open.
        let _ = calls.wait_for(|count| *count == 0).await;
        self.core().store.close().await
    }

    /// Like [`shutdown`](Self::shutdown), with a grace period of at most `limit`: work that is not
    /// finished by then is released immediately, and calls in progress are not waited for.
    pub async fn shutdown_within(&self, limit: Duration) -> Result<()> {
        if let Ok(stopped) = tokio::time::timeout(limit, self.shutdown()).await {
            return stopped;
        }
        let store = &self.core().store;
        for task in self.shared.background.lock().await.drain(..) {
            task.abort();
            // It ends at its next pause.
            let _ = task.await;
        }
        store.release_jobs(&self.core().worker).await?;
        store.close().await
    }

    pub(super) fn core(&self) -> &Arc<Core> {
        &self.shared.core
    }

    /// The core, if the engine runs and the request is valid.
    pub(super) fn checked(
        &self,
        project: &ProjectId,
        request: &impl Validate,
    ) -> Result<&Arc<Core>> {
        self.core().ensure_running()?;
        project.validate()?;
        request.validate()?;
        Ok(self.core())
    }

    pub(super) fn creates_projects(&self) -> bool {
        self.creates_projects
    }

    /// The key whose traces may be deleted; `None` allows all.
    pub(super) fn deletes_of(&self) -> Option<KeyId> {
        self.deletes_own_only.then(|| self.own_key())
    }

    /// The key whose memories may be deleted with their traces; `None` allows all.
    pub(super) fn deletes_taught_by(&self) -> Option<KeyId> {
        self.deletes_own_memories_only.then(|| self.own_key())
    }

    /// The handle's key, or an id that no key has.
    fn own_key(&self) -> KeyId {
        self.key.clone().unwrap_or_else(|| KeyId::new(""))
    }

    pub(super) fn key(&self) -> Option<&KeyId> {
        self.key.as_ref()
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reflector = self.core().reflector.as_deref();
        let reflector = reflector.map_or(Extractive::ID, |writer| writer.id());
        f.debug_struct("Engine")
            .field("embedder", &self.core().embedder.id())
            .field("reflector", &reflector)
            .finish_non_exhaustive()
    }
}
