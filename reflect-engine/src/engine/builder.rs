//! Configuration and start of an engine.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reflect_types::{InvalidField, Ranking, Review};
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};

use super::handle::Engine;
use crate::clock::{self, Clock};
use crate::core::{Core, SpanWork};
use crate::error::{Error, Result};
use crate::id::new_id;
use crate::index::Indexes;
use crate::jobs;
use crate::key_limits::KeyLimits;
use crate::model::{Embedder, Judge, ReflectionWriter, SkillWriter, StaticEmbedder};
use crate::rank::Floor;
use crate::store::{Sqlite, Store};
use crate::task::compute;

impl Engine {
    /// A builder with defaults that need no key, server or download.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Starts an engine with the defaults on a SQLite file, which is created if missing.
    ///
    /// The engine runs on the current tokio runtime.
    pub async fn open_sqlite(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        let opened = compute(move || Sqlite::open(path)).await?;
        Self::builder().store(Arc::new(opened?)).start()
    }
}

/// Configures and starts an [`Engine`].
#[derive(Default)]
pub struct Builder {
    store: Option<Arc<dyn Store>>,
    embedder: Option<Arc<dyn Embedder>>,
    reflector: Option<Arc<dyn ReflectionWriter>>,
    skill_writer: Option<Arc<dyn SkillWriter>>,
    judge: Option<Arc<dyn Judge>>,
    key_limits: Option<Arc<dyn KeyLimits>>,
    clock: Option<Arc<dyn Clock>>,
    alpha: Option<f64>,
    floor: Option<f64>,
    ranking: Ranking,
    concurrency: Option<usize>,
    lease: Option<Duration>,
    index_room: Option<usize>,
    span_quiet: Option<Duration>,
    only_on_call: bool,
    keep_personal_values: bool,
}

impl Builder {
    /// The default [`concurrency`](Self::concurrency) with a custom reflector or embedder: low,
    /// because it may call a rate-limited model.
    pub const DEFAULT_CONCURRENCY: usize = 8;
    /// The default [`concurrency`](Self::concurrency) with the bundled reflector and embedder: high,
    /// because they wait only for the disk, and reviews that wait together share a commit.
    pub const BUNDLED_CONCURRENCY: usize = 256;
    /// The default [`index_room`](Self::index_room), enough for about three million memories of
    /// 256 dimensions.
    pub const DEFAULT_INDEX_ROOM: usize = 1024 * 1024 * 1024;
    /// The default [`lease`](Self::lease).
    pub const DEFAULT_LEASE: Duration = Duration::from_secs(30);

    /// The default [`span_quiet`](Self::span_quiet): a model may take minutes, and its span comes after that.
    pub const DEFAULT_SPAN_QUIET: Duration = Duration::from_secs(300);

    /// The store. Default: in memory.
    #[must_use]
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// The embedder of tasks. Default: the bundled table of word vectors.
    #[must_use]
    pub fn embedder(mut self, embedder: Arc<dyn Embedder>) -> Self {
        self.embedder = Some(embedder);
        self
    }

    /// The writer of reflections. Default: extraction, without a model.
    #[must_use]
    pub fn reflector(mut self, reflector: Arc<dyn ReflectionWriter>) -> Self {
        self.reflector = Some(reflector);
        self
    }

    /// The writer of skills. Default: extraction, without a model.
    #[must_use]
    pub fn skill_writer(mut self, writer: Arc<dyn SkillWriter>) -> Self {
        self.skill_writer = Some(writer);
        self
    }

    /// The model that reviews traces without a review, in the background. A person's review replaces
    /// the model's. Default: none.
    #[must_use]
    pub fn judge(mut self, judge: Arc<dyn Judge>) -> Self {
        self.judge = Some(judge);
        self
    }

    /// The limits of API keys. The judge's review of a trace moves memories no further than the key that
    /// recorded the trace may. Default: none.
    #[must_use]
    pub fn key_limits(mut self, limits: Arc<dyn KeyLimits>) -> Self {
        self.key_limits = Some(limits);
        self
    }

    /// The learning rate of reviews that do not set one, from 0 to 1. Default: 0.3.
    #[must_use]
    pub fn alpha(mut self, alpha: f64) -> Self {
        self.alpha = Some(alpha);
        self
    }

    /// The ranking of queries that do not set one. Default: learned.
    #[must_use]
    pub fn ranking(mut self, ranking: Ranking) -> Self {
        self.ranking = ranking;
        self
    }

    /// The cosine similarity below which memories are left out, for queries that do not set one.
    /// Default: the embedder's noise floor, below which only memories are given that reviews show to help
    /// at any task.
    #[must_use]
    pub fn similarity_floor(mut self, floor: f64) -> Self {
        self.floor = Some(floor);
        self
    }

    /// Keeps values that identify a person or a case in the memories that the engine writes.
    /// Default: each is replaced by its role.
    ///
    /// Values are known by the keys of a tool's arguments and answers, as `user_id` and `first_name`; by the word before
    /// them, as in `order #W591` and `Dr. Li`; or by their form, as mail addresses and card and phone numbers.
    /// `docs/memories.md` of the repository lists all of them, with the limits. They are replaced where they occur as a
    /// whole word, in the task of a memory and the reviewer's words as well; the trace and reflections written by callers
    /// keep them.
    #[must_use]
    pub fn keep_personal_values(mut self) -> Self {
        self.keep_personal_values = true;
        self
    }

    /// The number of queued reviews processed concurrently.
    #[must_use]
    pub fn concurrency(mut self, reviews: usize) -> Self {
        self.concurrency = Some(reviews);
        self
    }

    /// How long a worker holds a job at a time; longer work renews it. After a worker dies, another
    /// process takes its jobs over when their leases expire.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = Some(lease);
        self
    }

    /// The memory budget, in bytes, of the indexes of all projects. The least recently used ones
    /// are dropped, and rebuilt by their next query.
    #[must_use]
    pub fn index_room(mut self, bytes: usize) -> Self {
        self.index_room = Some(bytes);
        self
    }

    /// How long a trace of OpenTelemetry is waited for after its last span, before its runs are recorded
    /// without its root. A trace whose root has come is waited for five seconds, or as long as this if
    /// that is less.
    #[must_use]
    pub fn span_quiet(mut self, quiet: Duration) -> Self {
        self.span_quiet = Some(quiet);
        self
    }

    /// Runs no background work: queued reviews and memories of another embedder are left to other
    /// engines on the same store. For tools that inspect a store.
    #[must_use]
    pub fn only_on_call(mut self) -> Self {
        self.only_on_call = true;
        self
    }

    /// The clock. Default: the system clock.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Starts the engine and its background work on the current tokio runtime, which may be a
    /// current-thread one and needs its timer enabled.
    pub fn start(self) -> Result<Engine> {
        let Ok(runtime) = Handle::try_current() else {
            return Err(Error::unavailable(
                "an engine is started inside a tokio runtime: call it in an async function, or \
                 after `Runtime::enter`",
            ));
        };
        let concurrency = match (&self.reflector, &self.embedder) {
            (None, None) => Self::BUNDLED_CONCURRENCY,
            _ => Self::DEFAULT_CONCURRENCY,
        };
        let embedder = self.embedder.unwrap_or_else(|| Arc::new(StaticEmbedder));
        let clock = self.clock.unwrap_or_else(|| Arc::new(clock::System));
        let core = Arc::new(Core {
            store: match self.store {
                Some(store) => store,
                None => Arc::new(Sqlite::in_memory()?),
            },
            reflector: self.reflector,
            skill_writer: self.skill_writer,
            judge: self.judge.filter(|_| !self.only_on_call),
            key_limits: self.key_limits,
            started_at: clock.now(),
            clock,
            indexes: Indexes::new(self.index_room.unwrap_or(Self::DEFAULT_INDEX_ROOM)),
            alpha: within("alpha", self.alpha.unwrap_or(Review::DEFAULT_ALPHA), 0.0)?,
            ranking: self.ranking,
            floor: match self.floor {
                Some(floor) => Floor::Set(within("similarity_floor", floor, -1.0)?),
                None => Floor::Noise(f64::from(embedder.noise_floor())),
            },
            embedder,
            keep_personal_values: self.keep_personal_values,
            concurrency: self.concurrency.unwrap_or(concurrency).max(1),
            lease: self.lease.unwrap_or(Self::DEFAULT_LEASE),
            work: Notify::new(),
            unjudged: Notify::new(),
            imported: Notify::new(),
            spans: SpanWork::new(self.span_quiet.unwrap_or(Self::DEFAULT_SPAN_QUIET)),
            background: !self.only_on_call,
            embedding: Mutex::default(),
            stopping: watch::Sender::new(false),
            worker: new_id(),
            calls: watch::Sender::new(0),
        });
        let background = if core.background {
            jobs::start(&core, &runtime)
        } else {
            Vec::new()
        };
        Ok(Engine::new(core, background))
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Extractive, HashedEmbedder};

    #[tokio::test]
    async fn only_bundled_models_process_many_reviews_concurrently() {
        let bundled = Engine::builder().start().unwrap();
        assert_eq!(bundled.core().concurrency, Builder::BUNDLED_CONCURRENCY);
        let embedder = Engine::builder().embedder(Arc::new(HashedEmbedder));
        let embedder = embedder.start().unwrap();
        assert_eq!(embedder.core().concurrency, Builder::DEFAULT_CONCURRENCY);
        let reflector = Engine::builder().reflector(Arc::new(Extractive));
        let reflector = reflector.start().unwrap();
        assert_eq!(reflector.core().concurrency, Builder::DEFAULT_CONCURRENCY);
    }
}
