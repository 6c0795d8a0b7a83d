//! The store, models, clock and settings that the operations and the background work share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use reflect_types::{KeyId, ProjectId, ProjectSettings, Ranking};
use tokio::sync::{Notify, watch};

use crate::backfill::Backfill;
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::index::Indexes;
use crate::key_limits::KeyLimits;
use crate::model::{Embedder, Judge, ReflectionWriter, SkillWriter};
use crate::rank::Floor;
use crate::settings::SettingsReads;
use crate::span_work::SpanWork;
use crate::store::Store;

pub(crate) struct Core {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) settings: SettingsReads,
    pub(crate) embedder: Arc<dyn Embedder>,
    pub(crate) reflector: Arc<dyn ReflectionWriter>,
    /// `None` if skills are extracted without a model.
    pub(crate) skill_writer: Option<Arc<dyn SkillWriter>>,
    /// `None` if traces are left to people.
    pub(crate) judge: Option<Arc<dyn Judge>>,
    /// `None` if keys have no limits.
    pub(crate) key_limits: Option<Arc<dyn KeyLimits>>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) indexes: Indexes,
    /// The learning rate of reviews that do not set one.
    pub(crate) alpha: f64,
    /// The ranking of queries that do not set one.
    pub(crate) ranking: Ranking,
    /// The similarity floor of queries that do not set one.
    pub(crate) floor: Floor,
    /// Whether reflections keep personal values.
    pub(crate) keep_personal_values: bool,
    /// The number of reviews processed concurrently.
    pub(crate) concurrency: usize,
    /// How long a claimed job is held before other workers may take it over.
    pub(crate) lease: Duration,
    /// Notified when a review is queued.
    pub(crate) work: Notify,
    /// Notified when a judgement is queued.
    pub(crate) unjudged: Notify,
    /// Notified when traces without a judgement are stored.
    pub(crate) imported: Notify,
    /// The work on spans of OpenTelemetry.
    pub(crate) spans: SpanWork,
    /// Whether this engine runs background work, and embeds what others have learned.
    pub(crate) background: bool,
    /// How far it has come with that.
    pub(crate) backfill: Backfill,
    /// Whether the engine is shutting down.
    pub(crate) stopping: watch::Sender<bool>,
    /// The owners of the jobs in progress.
    pub(crate) held: Mutex<Vec<Arc<str>>>,
    /// The number of calls that a shutdown waits for.
    pub(crate) calls: watch::Sender<usize>,
}

impl Core {
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) async fn settings(&self, project: &ProjectId) -> Result<ProjectSettings> {
        let (store, of) = (Arc::clone(&self.store), project.clone());
        let read = move || {
            let (store, of) = (Arc::clone(&store), of.clone());
            async move { store.settings(&of).await }
        };
        self.settings.get(project, read).await
    }

    /// The largest `alpha` of a review that a key has caused; `None` for any.
    pub(crate) async fn key_max_alpha(&self, key: Option<&KeyId>) -> Result<Option<f64>> {
        match (&self.key_limits, key) {
            (Some(limits), Some(key)) => limits.max_alpha(key).await,
            _ => Ok(None),
        }
    }

    /// The owners of the jobs in progress, one for each job.
    pub(crate) fn held(&self) -> MutexGuard<'_, Vec<Arc<str>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses new calls during a shutdown.
    pub(crate) fn ensure_running(&self) -> Result<()> {
        if *self.stopping.borrow() {
            return Err(Error::unavailable(
                "the engine is shutting down: try again when it is back",
            ));
        }
        Ok(())
    }
}
