use std::sync::Arc;
use std::time::Duration;

use reflect_types::{InvalidField, Review};
use tokio::runtime::Handle;
use tokio::sync::{Notify, OnceCell, watch};

use super::Engine;
use super::core::Core;
use crate::clock::{self, Clock};
use crate::error::{Error, Result};
use crate::model::{Embedder, Extractive, ReflectionWriter, SkillWriter, StaticEmbedder};
use crate::recall::Recall;
use crate::store::{InMemory, Store};
use crate::{ingest, reembed};

/// Sets up an [`Engine`]. What is not said gets the default that works offline.
#[derive(Default)]
pub struct Builder {
    store: Option<Arc<dyn Store>>,
    embedder: Option<Arc<dyn Embedder>>,
    reflector: Option<Arc<dyn ReflectionWriter>>,
    skill_writer: Option<Arc<dyn SkillWriter>>,
    clock: Option<Arc<dyn Clock>>,
    alpha: Option<f64>,
    floor: Option<f64>,
    concurrency: Option<usize>,
    lease: Option<Duration>,
    index_room: Option<usize>,
    only_on_call: bool,
}

impl Builder {
    /// How many reviews are worked on at once by a reflector of the caller's when nothing is said:
    /// few, because it may ask a model that counts calls.
    pub const DEFAULT_CONCURRENCY: usize = 8;
    /// The same for the bundled reflector, which waits for nothing but the disk.
    pub const BUNDLED_CONCURRENCY: usize = 32;
    /// What the indexes take at the most when nothing is said: that of some two million
    /// memories at 256 dimensions.
    pub const DEFAULT_INDEX_ROOM: usize = 1024 * 1024 * 1024;
    /// How long a job is held at a time when nothing is said; work that takes longer renews it.
    pub const DEFAULT_LEASE: Duration = Duration::from_secs(30);

    /// Where everything is kept; by default in memory.
    #[must_use]
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// What turns tasks into vectors; by default the bundled table.
    #[must_use]
    pub fn embedder(mut self, embedder: Arc<dyn Embedder>) -> Self {
        self.embedder = Some(embedder);
        self
    }

    /// What writes reflections; by default by extraction, without a model.
    #[must_use]
    pub fn reflector(mut self, reflector: Arc<dyn ReflectionWriter>) -> Self {
        self.reflector = Some(reflector);
        self
    }

    /// What condenses memories into a project's skill; by default by extraction, without a model.
    #[must_use]
    pub fn skill_writer(mut self, writer: Arc<dyn SkillWriter>) -> Self {
        self.skill_writer = Some(writer);
        self
    }

    /// How far a review that does not say moves the memories, from 0 to 1; by default 0.3.
    #[must_use]
    pub fn alpha(mut self, alpha: f64) -> Self {
        self.alpha = Some(alpha);
        self
    }

    /// The cosine similarity below which a memory does not count, where a query does not say; by
    /// default the embedder's noise floor.
    #[must_use]
    pub fn similarity_floor(mut self, floor: f64) -> Self {
        self.floor = Some(floor);
        self
    }

    /// How many reviews are worked on at once.
    #[must_use]
    pub fn concurrency(mut self, reviews: usize) -> Self {
        self.concurrency = Some(reviews);
        self
    }

    /// How long a job is held at a time: as long as another process waits before it takes over the
    /// work of one that died.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = Some(lease);
        self
    }

    /// How many bytes the indexes of all projects may take together; those that were not asked for
    /// longest are dropped, and built anew when they are.
    #[must_use]
    pub fn index_room(mut self, bytes: usize) -> Self {
        self.index_room = Some(bytes);
        self
    }

    /// Does what is called for and nothing else: queued reviews, and memories of another embedder,
    /// are left to the engine that the store belongs to. For whoever only looks at a store.
    #[must_use]
    pub fn only_on_call(mut self) -> Self {
        self.only_on_call = true;
        self
    }

    /// What tells the time; by default the clock on the wall.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Starts the engine and its background work. It lives on the tokio runtime that this is
    /// called in, which may be a current-thread one but has to have its time enabled.
    pub fn start(self) -> Result<Engine> {
        let Ok(runtime) = Handle::try_current() else {
            return Err(Error::unavailable(
                "an engine is started inside a tokio runtime: call it in an async function, or \
                 after `Runtime::enter`",
            ));
        };
        let embedder = self.embedder.unwrap_or_else(|| Arc::new(StaticEmbedder));
        let concurrency = match self.reflector {
            Some(_) => Self::DEFAULT_CONCURRENCY,
            None => Self::BUNDLED_CONCURRENCY,
        };
        let core = Arc::new(Core {
            store: self.store.unwrap_or_else(|| Arc::new(InMemory::new())),
            reflector: self.reflector.unwrap_or_else(|| Arc::new(Extractive)),
            skill_writer: self.skill_writer,
            clock: self.clock.unwrap_or_else(|| Arc::new(clock::System)),
            recall: Recall::new(self.index_room.unwrap_or(Self::DEFAULT_INDEX_ROOM)),
            alpha: within("alpha", self.alpha.unwrap_or(Review::DEFAULT_ALPHA), 0.0)?,
            floor: match self.floor {
                Some(floor) => within("similarity_floor", floor, -1.0)?,
                None => f64::from(embedder.noise_floor()),
            },
            embedder,
            concurrency: self.concurrency.unwrap_or(concurrency).max(1),
            lease: self.lease.unwrap_or(Self::DEFAULT_LEASE),
            work: Notify::new(),
            background: !self.only_on_call,
            claimed: OnceCell::new(),
            stopping: watch::Sender::new(false),
            under_way: watch::Sender::new(0),
        });
        let background = if self.only_on_call {
            Vec::new()
        } else {
            vec![
                runtime.spawn(ingest::worker(Arc::clone(&core))),
                runtime.spawn(reembed::keep_up(Arc::clone(&core))),
            ]
        };
        Ok(Engine::new(core, background))
    }
}

impl std::fmt::Debug for Builder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Builder").finish_non_exhaustive()
    }
}

fn within(field: &'static str, value: f64, lowest: f64) -> Result<f64> {
    if (lowest..=1.0).contains(&value) {
        return Ok(value);
    }
    let problem = format!("must be from {lowest} to 1, got {value}");
    Err(InvalidField::new(field, problem).into())
}
