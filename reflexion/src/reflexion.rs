use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::actor::{Actor, DynActor, LlmActor};
use super::boxed::BoxFuture;
use super::builder::{Config, ReflexionBuilder};
use super::error::ReflexionError;
use super::evaluator::DynEvaluator;
use super::llm::{Llm, SharedLlm};
use super::run::Runner;
use super::self_reflection::{DynSelfReflection, LlmReflection};
use super::{LlmEvaluator, MemoryEntry, Outcome};

/// A loop that tries a task, judges the result, and tries again with what was learned.
///
/// It holds no state of a run: clone it, share it, and run it as often and as concurrently as you
/// like.
#[derive(Clone)]
pub struct Reflexion {
    pub(super) actor: Arc<dyn DynActor>,
    pub(super) evaluator: Arc<dyn DynEvaluator>,
    pub(super) reflection: Option<Arc<dyn DynSelfReflection>>,
    pub(super) config: Arc<Config>,
}

impl Reflexion {
    /// A loop in which one model acts, judges and reflects, with the default options.
    pub fn new(llm: impl Llm) -> Self {
        let llm = SharedLlm::new(llm);
        Self {
            actor: Arc::new(LlmActor::new(llm.clone())),
            evaluator: Arc::new(LlmEvaluator::new(llm.clone())),
            reflection: Some(Arc::new(LlmReflection::new(llm))),
            config: Arc::new(Config::default()),
        }
    }

    /// Sets up a loop around an actor: your agent, often just an async closure.
    pub fn builder(actor: impl Actor) -> ReflexionBuilder {
        ReflexionBuilder::new(actor)
    }

    /// Runs the loop on a task.
    ///
    /// Running out of trials is no error: see [`Outcome::status`] and [`Outcome::into_success`].
    pub fn run(&self, task: impl Into<String>) -> Run {
        self.run_with(task, [])
    }

    /// Runs the loop on a task with what earlier runs taught, such as their [`Outcome::memory`];
    /// as much of it as the memory holds.
    pub fn run_with(
        &self,
        task: impl Into<String>,
        memory: impl IntoIterator<Item = MemoryEntry>,
    ) -> Run {
        let runner = Runner::new(self.clone(), task.into(), memory.into_iter().collect());
        Run(Box::pin(runner.run()))
    }
}

/// A run that is going on. Dropping it stops it at once: nothing runs elsewhere.
#[must_use = "a run does nothing until it is awaited"]
pub struct Run(BoxFuture<'static, Result<Outcome, ReflexionError>>);

impl Future for Run {
    type Output = Result<Outcome, ReflexionError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(context)
    }
}

impl fmt::Debug for Reflexion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reflexion")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").finish_non_exhaustive()
    }
}
