//! What the tests of the engine share: models that do as they are told, and ways to wait.

#![allow(dead_code, unused_macros, reason = "each test file uses its own part")]

pub(crate) mod child;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use reflect_engine::clock::Manual;
use reflect_engine::model::{
    Embedder, Error, HashedEmbedder, JudgedRun, Reflection, ReflectionWriter,
};
use reflect_engine::store::{InMemory, Sqlite, Store};
use reflect_engine::{Builder, Engine};
use reflect_types::{
    CreateTrace, IngestStatus, MemoryId, ProjectId, Review, Trace, TraceId, Verdict,
};
use tokio::sync::Semaphore;

/// Runs a test on a store in memory and on one on SQLite.
#[macro_export]
macro_rules! on_every_store {
    ($($name:ident),+ $(,)?) => {
        mod in_memory {
            $( #[tokio::test] async fn $name() { super::$name(&super::common::Home::in_memory()).await; } )+
        }
        mod on_sqlite {
            $( #[tokio::test] async fn $name() { super::$name(&super::common::Home::on_sqlite()).await; } )+
        }
    };
}

/// A store, what is configured to work on it, and the time there.
pub(crate) struct Home {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Manual,
    pub(crate) reflector: Arc<Puppet>,
    pub(crate) embedder: Arc<Moody>,
    folder: Option<Arc<tempfile::TempDir>>,
}

impl Home {
    pub(crate) fn in_memory() -> Self {
        Self::on(Arc::new(InMemory::new()), None)
    }

    pub(crate) fn on_sqlite() -> Self {
        Self::in_folder(Arc::new(tempfile::tempdir().unwrap()))
    }

    /// The same store and time, with models of its own.
    pub(crate) fn beside(&self) -> Self {
        Self {
            clock: self.clock.clone(),
            ..Self::on(Arc::clone(&self.store), self.folder.clone())
        }
    }

    /// The same place after its store was closed, with models of its own.
    pub(crate) fn reopened(&self) -> Self {
        let home = match &self.folder {
            Some(folder) => Self::in_folder(Arc::clone(folder)),
            None => Self::on(Arc::clone(&self.store), None),
        };
        Self {
            clock: self.clock.clone(),
            ..home
        }
    }

    fn in_folder(folder: Arc<tempfile::TempDir>) -> Self {
        let store = Sqlite::open(folder.path().join("reflect.db")).unwrap();
        Self::on(Arc::new(store), Some(folder))
    }

    fn on(store: Arc<dyn Store>, folder: Option<Arc<tempfile::TempDir>>) -> Self {
        Self {
            store,
            clock: Manual::at(Timestamp::from_second(1_700_000_000).unwrap()),
            reflector: Arc::default(),
            embedder: Arc::default(),
            folder,
        }
    }

    pub(crate) fn builder(&self) -> Builder {
        let Self {
            store,
            clock,
            reflector,
            embedder,
            ..
        } = self;
        Engine::builder()
            .store(Arc::clone(store))
            .clock(Arc::new(clock.clone()))
            .reflector(Arc::clone(reflector) as Arc<dyn ReflectionWriter>)
            .embedder(Arc::clone(embedder) as Arc<dyn Embedder>)
    }

    pub(crate) fn engine(&self) -> Engine {
        self.builder().start().unwrap()
    }
}

/// A reflector that fails, panics or waits when told to, and else says what it was given.
#[derive(Default)]
pub(crate) struct Puppet {
    plan: Mutex<Vec<Act>>,
    pub(crate) calls: AtomicU32,
    gate: Mutex<Option<Arc<Semaphore>>>,
}

#[derive(Clone, Copy)]
pub(crate) enum Act {
    Fail,
    Refuse,
    Panic,
}

impl Puppet {
    /// What to do at the next calls, in order.
    pub(crate) fn plan(&self, acts: &[Act]) {
        *self.plan.lock().unwrap() = acts.iter().rev().copied().collect();
    }

    /// From now on every call waits for a permit.
    pub(crate) fn hold(&self) -> Arc<Semaphore> {
        let gate = Arc::new(Semaphore::new(0));
        *self.gate.lock().unwrap() = Some(Arc::clone(&gate));
        gate
    }

    pub(crate) fn calls(&self) -> u32 {
        self.calls.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl ReflectionWriter for Puppet {
    fn id(&self) -> &'static str {
        "puppet"
    }

    async fn reflect(&self, run: &JudgedRun<'_>) -> Result<Reflection, Error> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let gate = self.gate.lock().unwrap().clone();
        if let Some(gate) = gate {
            gate.acquire().await.unwrap().forget();
        }
        let act = self.plan.lock().unwrap().pop();
        match act {
            None => Ok(Reflection {
                summary: format!("{}: {}", run.verdict, run.task),
                guidance: run.feedback.unwrap_or("as before").to_owned(),
                ..Reflection::default()
            }),
            Some(Act::Panic) => panic!("the puppet fell over"),
            Some(act) => Err(Error {
                message: "the model is away".to_owned(),
                retryable: matches!(act, Act::Fail),
                source: None,
            }),
        }
    }
}

/// The hashed embedder, except that it fails or panics when told to.
#[derive(Default)]
pub(crate) struct Moody {
    plan: Mutex<Vec<Act>>,
}

impl Moody {
    pub(crate) fn plan(&self, acts: &[Act]) {
        *self.plan.lock().unwrap() = acts.iter().rev().copied().collect();
    }
}

#[async_trait]
impl Embedder for Moody {
    fn id(&self) -> &'static str {
        "moody"
    }

    fn dims(&self) -> usize {
        HashedEmbedder.dims()
    }

    fn noise_floor(&self) -> f32 {
        HashedEmbedder.noise_floor()
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, Error> {
        let act = self.plan.lock().unwrap().pop();
        match act {
            None => HashedEmbedder.embed(texts).await,
            Some(Act::Panic) => panic!("the embedder fell over"),
            Some(act) => Err(Error {
                message: "the embedder is away".to_owned(),
                retryable: matches!(act, Act::Fail),
                source: None,
            }),
        }
    }
}

pub(crate) fn project() -> ProjectId {
    ProjectId::default()
}

pub(crate) fn run(task: &str) -> CreateTrace {
    CreateTrace::new(task, "I did it.")
}

pub(crate) fn run_with(task: &str, memories: &[&MemoryId]) -> CreateTrace {
    CreateTrace {
        retrieved_memory_ids: memories.iter().map(|id| (*id).clone()).collect(),
        ..run(task)
    }
}

/// Records a run without a review.
pub(crate) async fn record(engine: &Engine, trace: CreateTrace) -> TraceId {
    let receipt = engine.create_trace(&project(), trace, None).await.unwrap();
    receipt.trace_id
}

/// Records a run and judges it; the memory it made.
pub(crate) async fn learn(engine: &Engine, trace: CreateTrace, verdict: Verdict) -> MemoryId {
    let id = record(engine, trace).await;
    let trace = engine
        .review_trace(&project(), &id, Review::new(verdict))
        .await;
    trace.unwrap().created_memory_id.unwrap()
}

pub(crate) async fn q(engine: &Engine, id: &MemoryId) -> f64 {
    engine
        .get_memory(&project(), id)
        .await
        .unwrap()
        .memory
        .q_value
}

/// Waits until the work on a trace has come to an end of this kind.
pub(crate) async fn until(engine: &Engine, id: &TraceId, status: IngestStatus) -> Trace {
    eventually(async || {
        let trace = engine.get_trace(&project(), id).await.unwrap();
        (trace.ingest_status == status).then_some(trace)
    })
    .await
}

/// Asks again until there is an answer; a minute without one is a failure.
pub(crate) async fn eventually<T>(mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let asking = async {
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            tokio::task::yield_now().await;
        }
    };
    let answer = tokio::time::timeout(Duration::from_secs(60), asking).await;
    answer.expect("what was waited for did not happen")
}
