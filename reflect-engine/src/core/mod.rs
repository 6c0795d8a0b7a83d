//! The store, models, clock and indexes that the operations and the background work share.

mod embedders;
mod span_work;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use reflect_types::{KeyId, Ranking};
use tokio::sync::{Notify, watch};

use crate::clock::{Clock, later};
use crate::error::{Error, Result};
use crate::index::Indexes;
use crate::key_limits::KeyLimits;
use crate::learn::Role;
use crate::model::{self, Embedder, Judge, ReflectionWriter, SkillWriter};
use crate::rank::Floor;
use crate::store::{KnownEmbedder, Lease, Store, VectorSpace};

pub(crate) use embedders::{ANNOUNCE, Embedding};
pub use span_work::SpanTotals;
pub(crate) use span_work::SpanWork;

pub(crate) struct Core {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) embedder: Arc<dyn Embedder>,
    /// `None` if reflections are extracted without a model.
    pub(crate) reflector: Option<Arc<dyn ReflectionWriter>>,
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
    /// How far it has come with that, and whether an engine with another embedder decides.
    pub(crate) embedding: Mutex<Embedding>,
    pub(crate) started_at: Timestamp,
    /// Whether the engine is shutting down.
    pub(crate) stopping: watch::Sender<bool>,
    /// What the names of its owners of jobs begin with.
    pub(crate) worker: String,
    /// The number of calls that a shutdown waits for.
    pub(crate) calls: watch::Sender<usize>,
}

impl Core {
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn embedding(&self) -> MutexGuard<'_, Embedding> {
        self.embedding
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The largest `alpha` of a review that a key has caused; `None` for any.
    pub(crate) async fn key_max_alpha(&self, key: Option<&KeyId>) -> Result<Option<f64>> {
        match (&self.key_limits, key) {
            (Some(limits), Some(key)) => limits.max_alpha(key).await,
            _ => Ok(None),
        }
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

    /// Embeds texts and checks the vectors, so that a faulty embedder cannot damage the store.
    pub(crate) async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, model::Error> {
        let embedder = &self.embedder;
        let vectors = embedder.embed(texts).await?;
        let faulty = |problem: String| model::Error {
            message: format!("the embedder `{}` {problem}", embedder.id()),
            // The embedder is at fault, so no text is given up.
            retryable: true,
            source: None,
        };
        if vectors.len() != texts.len() {
            let (asked, got) = (texts.len(), vectors.len());
            return Err(faulty(format!("answered {asked} texts with {got} vectors")));
        }
        for vector in &vectors {
            if vector.len() != embedder.dims() {
                let (declared, got) = (embedder.dims(), vector.len());
                return Err(faulty(format!(
                    "declares {declared} dimensions but returned {got}"
                )));
            }
            if vector.iter().any(|x| !x.is_finite()) {
                return Err(faulty(
                    "returned a vector with a component that is not a number".to_owned(),
                ));
            }
        }
        Ok(vectors)
    }

    /// The vector of one text.
    pub(crate) async fn embed_one(&self, text: &str) -> Result<Vec<f32>, model::Error> {
        let vectors = self.embed(&[text]).await?;
        Ok(vectors.into_iter().next().unwrap_or_default())
    }

    /// The space of this engine's vectors.
    pub(crate) fn space(&self) -> VectorSpace {
        VectorSpace::new(self.embedder.id(), self.embedder.dims())
    }

    /// Whether this engine decides about memories or follows another one. Fails if it adds no vectors of its own and
    /// those of the store are of other embedders; an engine with background work answers from what it has embedded
    /// so far.
    pub(crate) async fn role(&self) -> Result<Role> {
        if self.background
            && let Some(role) = self.embedding().role
        {
            return Ok(role);
        }
        let known = self.store.embedders().await?;
        let role = self.note_embedders(&known);
        let own = self.space();
        let is_complete =
            |one: &KnownEmbedder| own.includes(&one.space) && one.completed_at.is_some();
        if self.background || known.iter().any(is_complete) {
            return Ok(role);
        }
        match known.iter().rfind(|one| !own.includes(&one.space)) {
            Some(other) => Err(Error::unavailable(format!(
                "the memories are embedded with `{}`, but not all of them with `{}`: configure the same \
                 embedder, or start a server with this one and wait until it is active",
                other.space.embedder, own.embedder
            ))),
            None => Ok(role),
        }
    }

    /// Finds out who decides about memories among engines with these embedders.
    pub(crate) fn note_embedders(&self, known: &[KnownEmbedder]) -> Role {
        let role = embedders::role(&self.space(), known, self.started_at, self.now());
        self.embedding().role = Some(role);
        role
    }

    /// A lease of a worker, from now.
    pub(crate) fn lease_for(&self, owner: &str) -> Lease {
        Lease {
            owner: owner.to_owned(),
            until: later(self.now(), self.lease),
        }
    }
}
