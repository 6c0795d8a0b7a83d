use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::actor::{LlmActor, SharedActor};
use crate::clock::block_on;
use crate::config::{Config, Listeners, Options};
use crate::erased::BoxFuture;
use crate::error::ReflexionError;
use crate::evaluation::SharedEvaluator;
use crate::llm::{Llm, LlmEvaluator, LlmReflection, SharedLlm};
use crate::outcome::Outcome;
use crate::runner::Runner;
use crate::self_reflection::{MemoryEntry, SharedSelfReflection};
use crate::trajectory::Task;

/// The Reflexion loop: attempts a task, evaluates the result, and tries again with what the
/// failures taught.
///
/// A loop holds no state of its runs. Clone it, share it, and run it concurrently.
#[derive(Clone)]
pub struct Reflexion {
    config: Arc<Config>,
}

impl Reflexion {
    /// A loop in which one model acts, evaluates and reflects, with default options. For other
    /// options, see [`with_llm`](Self::with_llm).
    pub fn new(llm: impl Llm) -> Self {
        let llm = SharedLlm::new(llm);
        Self::from_config(Config {
            actor: SharedActor::new(LlmActor::new(llm.clone())),
            evaluator: SharedEvaluator::new(LlmEvaluator::new(llm.clone())),
            reflection: Some(SharedSelfReflection::new(LlmReflection::new(llm))),
            options: Options::default(),
            listeners: Listeners::default(),
            recorder: None,
        })
    }

    pub(crate) fn from_config(config: Config) -> Self {
        let config = Arc::new(config);
        Self { config }
    }

    /// Runs the loop on a task.
    ///
    /// Running out of trials is not an error: see [`Outcome::status`] and
    /// [`Outcome::into_success`].
    pub fn run(&self, task: impl Into<Task>) -> Run {
        self.run_with(task, [])
    }

    /// Runs the loop on a task with reflections of earlier runs, such as their
    /// [`Outcome::memory`], as many as the episodic memory holds.
    pub fn run_with(
        &self,
        task: impl Into<Task>,
        memory: impl IntoIterator<Item = MemoryEntry>,
    ) -> Run {
        let runner = Runner::new(Arc::clone(&self.config), task.into(), memory);
        Run(Box::pin(runner.run()))
    }

    /// Runs the loop on a task and blocks the thread until it ends.
    ///
    /// The parts run inside a tokio runtime made for the run. Inside an async function, use
    /// [`run`](Self::run): this call would hold up the other tasks on the thread.
    ///
    /// ```
    /// use reflexion::{Attempt, Reflexion, ReflexionError};
    ///
    /// let reflexion = Reflexion::builder(|attempt: Attempt| async move { attempt.prompt })
    ///     .evaluate_with(|trial| trial.answer() == "2 + 2")
    ///     .max_trials(1)
    ///     .build()?;
    /// assert!(reflexion.run_blocking("2 + 2")?.succeeded());
    /// # Ok::<(), ReflexionError>(())
    /// ```
    pub fn run_blocking(&self, task: impl Into<Task>) -> Result<Outcome, ReflexionError> {
        block_on(self.run(task)).map_err(ReflexionError::Runtime)?
    }
}

/// A run in progress. Dropping it stops it.
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
            .field("options", &self.config.options)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").finish_non_exhaustive()
    }
}
