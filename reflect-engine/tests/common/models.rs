use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use reflect_engine::model::{
    Embedder, Error, HashedEmbedder, JudgedRun, Reflection, ReflectionWriter,
};
use tokio::sync::Semaphore;

/// A reflector that fails, panics or waits on demand, and otherwise repeats its input.
#[derive(Default)]
pub(crate) struct ScriptedReflector {
    plan: Mutex<Vec<Act>>,
    pub(crate) calls: AtomicU32,
    gate: Mutex<Option<Arc<Semaphore>>>,
}

/// How a call of a model ends.
#[derive(Clone, Copy)]
pub(crate) enum Act {
    Fail,
    Refuse,
    Panic,
}

impl ScriptedReflector {
    /// Sets how the next calls end, in order.
    pub(crate) fn plan(&self, acts: &[Act]) {
        *self.plan.lock().unwrap() = acts.iter().rev().copied().collect();
    }

    /// Makes every call wait for a permit of the returned semaphore.
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
impl ReflectionWriter for ScriptedReflector {
    fn id(&self) -> &'static str {
        "scripted"
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
                guidance: run.feedback.unwrap_or_default().to_owned(),
                ..Reflection::default()
            }),
            Some(Act::Panic) => panic!("the reflector fell over"),
            Some(act) => Err(Error {
                message: "the model is away".to_owned(),
                retryable: matches!(act, Act::Fail),
                source: None,
            }),
        }
    }
}

/// The hashed embedder, which fails or panics on demand.
#[derive(Default)]
pub(crate) struct FlakyEmbedder {
    plan: Mutex<Vec<Act>>,
    texts: AtomicUsize,
}

impl FlakyEmbedder {
    /// Whether all planned calls were made.
    pub(crate) fn is_done(&self) -> bool {
        self.plan.lock().unwrap().is_empty()
    }

    pub(crate) fn plan(&self, acts: &[Act]) {
        *self.plan.lock().unwrap() = acts.iter().rev().copied().collect();
    }

    /// The number of texts that it has embedded.
    pub(crate) fn texts(&self) -> usize {
        self.texts.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Embedder for FlakyEmbedder {
    fn id(&self) -> &'static str {
        "flaky"
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
            None => {
                self.texts.fetch_add(texts.len(), Ordering::SeqCst);
                HashedEmbedder.embed(texts).await
            }
            Some(Act::Panic) => panic!("the embedder fell over"),
            Some(act) => Err(Error {
                message: "the embedder is away".to_owned(),
                retryable: matches!(act, Act::Fail),
                source: None,
            }),
        }
    }
}
