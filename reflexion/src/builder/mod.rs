#[cfg(feature = "memory")]
mod memory;

use std::fmt;
use std::future::ready;
use std::time::Duration;

use crate::actor::{Actor, LlmActor, SharedActor};
#[cfg(feature = "memory")]
use crate::bank::Bank;
use crate::config::{Config, Listeners, OnReflectionError, Options, TrialContext};
use crate::erased::IntoResult;
use crate::error::{ConfigError, ReflexionError};
use crate::evaluation::{Evaluation, Evaluator, SharedEvaluator};
use crate::hooks::{Event, Hooks};
use crate::llm::{Llm, LlmEvaluator, LlmReflection, SharedLlm};
use crate::reflexion::Reflexion;
use crate::self_reflection::{FailedTrial, SelfReflection, SharedSelfReflection};
use crate::trajectory::Trajectory;

/// Builds a [`Reflexion`]. The order of the calls does not matter.
#[must_use = "call `build` to get the loop"]
pub struct ReflexionBuilder {
    actor: SharedActor,
    llm: Option<SharedLlm>,
    evaluator: Option<SharedEvaluator>,
    reflection: Option<SharedSelfReflection>,
    options: Options,
    listeners: Listeners,
    #[cfg(feature = "memory")]
    bank: Bank,
}

impl Reflexion {
    /// Builds a loop around an actor: your agent, often an async closure.
    pub fn builder(actor: impl Actor) -> ReflexionBuilder {
        ReflexionBuilder {
            actor: SharedActor::new(actor),
            llm: None,
            evaluator: None,
            reflection: None,
            options: Options::default(),
            listeners: Listeners::default(),
            #[cfg(feature = "memory")]
            bank: Bank::default(),
        }
    }

    /// Builds a loop in which one model acts, evaluates and reflects, unless set otherwise.
    ///
    /// ```
    /// use reflexion::{Reflexion, ReflexionError};
    ///
    /// let llm = |_prompt: String| async { "SUCCESS" };
    /// let reflexion = Reflexion::with_llm(llm).max_trials(5).memory_size(2).build()?;
    /// # Ok::<(), ReflexionError>(())
    /// ```
    pub fn with_llm(llm: impl Llm) -> ReflexionBuilder {
        let llm = SharedLlm::new(llm);
        Self::builder(LlmActor::new(llm.clone())).llm(llm)
    }
}

impl ReflexionBuilder {
    /// Sets the model that evaluates and reflects, unless an evaluator or a self-reflection is set.
    pub fn llm(mut self, llm: impl Llm) -> Self {
        self.llm = Some(SharedLlm::new(llm));
        self
    }

    /// Sets a closure as the evaluator. It returns a `bool`, an [`Evaluation`] or a `Result` of
    /// either. For an async closure, see [`evaluator`](Self::evaluator).
    ///
    /// ```
    /// use reflexion::{Evaluation, Reflexion, ReflexionError};
    ///
    /// let llm = |_prompt: String| async { "42" };
    /// let reflexion = Reflexion::with_llm(llm)
    ///     .evaluate_with(|trial| match trial.answer().parse::<i64>() {
    ///         Ok(42) => Evaluation::pass(),
    ///         Ok(other) => Evaluation::fail(format!("{other} is not 42")).score(0.5),
    ///         Err(_) => Evaluation::fail("answer with a number"),
    ///     })
    ///     .build()?;
    /// # Ok::<(), ReflexionError>(())
    /// ```
    pub fn evaluate_with<F, R>(self, evaluate: F) -> Self
    where
        F: Fn(&Trajectory) -> R + Send + Sync + 'static,
        R: IntoResult<Evaluation>,
    {
        self.evaluator(move |trial: Trajectory| ready(evaluate(&trial).into_result()))
    }

    /// Sets the evaluator: a type, or a closure such as `|trial: Trajectory| async move { … }`.
    pub fn evaluator(mut self, evaluator: impl Evaluator) -> Self {
        self.evaluator = Some(SharedEvaluator::new(evaluator));
        self
    }

    /// Sets a closure as the self-reflection. It returns a text or a `Result` of one. For an async
    /// closure, see [`self_reflection`](Self::self_reflection).
    pub fn reflect_with<F, R>(self, reflect: F) -> Self
    where
        F: Fn(FailedTrial) -> R + Send + Sync + 'static,
        R: IntoResult<String>,
    {
        self.self_reflection(move |failed: FailedTrial| ready(reflect(failed).into_result()))
    }

    /// Sets the self-reflection: a type, or a closure such as
    /// `|failed: FailedTrial| async move { … }`.
    pub fn self_reflection(mut self, reflection: impl SelfReflection) -> Self {
        self.reflection = Some(SharedSelfReflection::new(reflection));
        self
    }

    /// Sets the maximum number of trials, at least 1; by default
    /// [`DEFAULT_MAX_TRIALS`](crate::DEFAULT_MAX_TRIALS).
    pub fn max_trials(mut self, trials: u32) -> Self {
        self.options.max_trials = trials;
        self
    }

    /// Sets how many reflections the next trial sees; by default
    /// [`DEFAULT_MEMORY_SIZE`](crate::DEFAULT_MEMORY_SIZE). With 0, reflections are written and
    /// reported, but no trial sees them.
    pub fn memory_size(mut self, entries: usize) -> Self {
        self.options.memory_size = entries;
        self
    }

    /// Sets whether a failed last trial is reflected on; by default it is not.
    pub fn reflect_on_last_failure(mut self, reflect: bool) -> Self {
        self.options.reflect_on_last_failure = reflect;
        self
    }

    /// Sets what happens when the self-reflection fails; by default the run ends.
    pub fn on_reflection_error(mut self, action: OnReflectionError) -> Self {
        self.options.on_reflection_error = action;
        self
    }

    /// Sets what a trial sees of the previous one; by default nothing.
    pub fn trial_context(mut self, context: TrialContext) -> Self {
        self.options.trial_context = context;
        self
    }

    /// Limits the time of the actor per trial. A trial that takes longer is dropped and has failed.
    pub fn trial_timeout(mut self, limit: Duration) -> Self {
        self.options.trial_timeout = Some(limit);
        self
    }

    /// Adds hooks. They are called in the order of adding.
    pub fn hooks(mut self, hooks: impl Hooks) -> Self {
        self.listeners.hooks.push(Box::new(hooks));
        self
    }

    /// Adds a closure that is called with every [`Event`].
    pub fn on_event(mut self, observe: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.listeners.observers.push(Box::new(observe));
        self
    }

    /// Builds the loop. Options that cannot work are a [`ConfigError`].
    pub fn build(self) -> Result<Reflexion, ReflexionError> {
        let options = self.options;
        if options.max_trials == 0 {
            return Err(ConfigError::NoTrials.into());
        }
        if options.trial_timeout.is_some_and(|limit| limit.is_zero()) {
            return Err(ConfigError::NoTime.into());
        }
        let llm = self.llm;
        let evaluator = self.evaluator.or_else(|| {
            let llm = llm.clone()?;
            Some(SharedEvaluator::new(LlmEvaluator::new(llm)))
        });
        let reflection = self.reflection.or_else(|| {
            let llm = llm.clone()?;
            Some(SharedSelfReflection::new(LlmReflection::new(llm)))
        });
        let reflects = options.max_trials > 1 || options.reflect_on_last_failure;
        if reflects && reflection.is_none() {
            return Err(ConfigError::NoReflection.into());
        }
        Ok(Reflexion::from_config(Config {
            actor: self.actor,
            evaluator: evaluator.ok_or(ConfigError::NoEvaluator)?,
            reflection,
            options,
            listeners: self.listeners,
            #[cfg(feature = "memory")]
            recorder: self.bank.into_recorder()?,
            #[cfg(not(feature = "memory"))]
            recorder: None,
        }))
    }
}

impl fmt::Debug for ReflexionBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReflexionBuilder")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
