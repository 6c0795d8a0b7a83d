use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::actor::{Actor, DynActor};
use super::error::{ConfigError, ReflexionError};
use super::evaluator::{DynEvaluator, Evaluator, evaluator_fn};
use super::hooks::{DynHooks, Hooks};
use super::into_result::IntoResult;
use super::llm::{Llm, SharedLlm};
use super::recall::Recall;
use super::self_reflection::{
    DynSelfReflection, FailedTrial, LlmReflection, SelfReflection, reflection_fn,
};
use super::timer::{Timer, TimerThread};
use super::{Evaluation, Event, LlmEvaluator, Persist, Reflexion, Trajectory};
use crate::client::Handle;

/// Sets up a [`Reflexion`]; the order of the calls does not matter.
#[must_use = "call `build` to get the loop"]
pub struct ReflexionBuilder {
    actor: Arc<dyn DynActor>,
    llm: Option<SharedLlm>,
    evaluator: Option<Arc<dyn DynEvaluator>>,
    reflection: Option<Arc<dyn DynSelfReflection>>,
    pub(super) config: Config,
}

/// What a trial is told of the one before it, besides the memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TrialContext {
    /// Nothing: each trial starts afresh. Old attempts in the context tend to be repeated.
    #[default]
    Fresh,
    /// Its steps and its answer, shortened.
    LastAttempt,
}

/// What to do when the self-reflection fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OnReflectionError {
    /// End the run with an error that holds what was done so far.
    #[default]
    Abort,
    /// Remember the evaluator's feedback instead and go on; the error is noted in the trial.
    UseFeedback,
}

type Observer = Arc<dyn Fn(&Event) + Send + Sync>;

/// The options of a loop, resolved.
#[derive(Clone)]
pub(super) struct Config {
    pub(super) max_trials: u32,
    pub(super) memory_size: usize,
    pub(super) reflect_on_last_failure: bool,
    pub(super) on_reflection_error: OnReflectionError,
    pub(super) trial_context: TrialContext,
    pub(super) trial_timeout: Option<Duration>,
    pub(super) timer: Arc<dyn Timer>,
    pub(super) hooks: Vec<Arc<dyn DynHooks>>,
    pub(super) observers: Vec<Observer>,
    pub(super) recall: Option<Recall>,
    pub(super) persist: Option<(Arc<Handle>, Persist)>,
    pub(super) persist_timeout: Duration,
    pub(super) strict_persist: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            max_trials: 3,
            memory_size: 3,
            reflect_on_last_failure: false,
            on_reflection_error: OnReflectionError::default(),
            trial_context: TrialContext::default(),
            trial_timeout: None,
            timer: Arc::new(TimerThread),
            hooks: Vec::new(),
            observers: Vec::new(),
            recall: None,
            persist: None,
            persist_timeout: Duration::from_secs(5),
            strict_persist: false,
        }
    }
}

impl ReflexionBuilder {
    pub(super) fn new(actor: impl Actor) -> Self {
        Self {
            actor: Arc::new(actor),
            llm: None,
            evaluator: None,
            reflection: None,
            config: Config::default(),
        }
    }

    /// The model that judges and reflects, where nothing else is set for it.
    pub fn llm(mut self, llm: impl Llm) -> Self {
        self.llm = Some(SharedLlm::new(llm));
        self
    }

    /// Judges trials with a closure that returns a `bool`, an [`Evaluation`] or a `Result` of
    /// either. For an async closure see [`evaluator_async`](super::evaluator_async).
    pub fn evaluate_with<F, R>(self, judge: F) -> Self
    where
        F: Fn(&Trajectory) -> R + Send + Sync + 'static,
        R: IntoResult<Evaluation> + 'static,
    {
        self.evaluator(evaluator_fn(judge))
    }

    /// Judges trials with this evaluator.
    pub fn evaluator(mut self, evaluator: impl Evaluator) -> Self {
        self.evaluator = Some(Arc::new(evaluator));
        self
    }

    /// Reflects on failed trials with a closure that returns a text or a `Result` of one. For an
    /// async closure see [`reflection_async`](super::reflection_async).
    pub fn reflect_with<F, R>(self, write: F) -> Self
    where
        F: Fn(FailedTrial<'_>) -> R + Send + Sync + 'static,
        R: IntoResult<String> + 'static,
    {
        self.self_reflection(reflection_fn(write))
    }

    /// Reflects on failed trials with this.
    pub fn self_reflection(mut self, reflection: impl SelfReflection) -> Self {
        self.reflection = Some(Arc::new(reflection));
        self
    }

    /// How many trials there may be; 3 unless set, at least 1.
    pub fn max_trials(mut self, trials: u32) -> Self {
        self.config.max_trials = trials;
        self
    }

    /// How many reflections are shown to the next trial; 3 unless set. With 0, reflections are
    /// still written and reported, but never shown.
    pub fn memory_size(mut self, entries: usize) -> Self {
        self.config.memory_size = entries;
        self
    }

    /// Whether the last trial is reflected on as well, when it fails; not unless set.
    pub fn reflect_on_last_failure(mut self, reflect: bool) -> Self {
        self.config.reflect_on_last_failure = reflect;
        self
    }

    /// What to do when the self-reflection fails; the run ends unless set.
    pub fn on_reflection_error(mut self, action: OnReflectionError) -> Self {
        self.config.on_reflection_error = action;
        self
    }

    /// What a trial is told of the one before it; nothing unless set.
    pub fn trial_context(mut self, context: TrialContext) -> Self {
        self.config.trial_context = context;
        self
    }

    /// How long the actor may take for a trial; a longer one is stopped and counts as failed.
    pub fn trial_timeout(mut self, limit: Duration) -> Self {
        self.config.trial_timeout = Some(limit);
        self
    }

    /// Where [`trial_timeout`](Self::trial_timeout) gets its time from; a thread unless set.
    pub fn timer(mut self, timer: impl Timer) -> Self {
        self.config.timer = Arc::new(timer);
        self
    }

    /// Adds hooks; they are called in the order in which they were added.
    pub fn hooks(mut self, hooks: impl Hooks) -> Self {
        self.config.hooks.push(Arc::new(hooks));
        self
    }

    /// Adds a closure that sees every [`Event`].
    pub fn on_event(mut self, observe: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.config.observers.push(Arc::new(observe));
        self
    }

    /// The loop, or what is wrong with its options.
    pub fn build(self) -> Result<Reflexion, ReflexionError> {
        let config = self.config;
        if config.max_trials == 0 {
            return Err(ConfigError::NoTrials.into());
        }
        if config.trial_timeout.is_some_and(|limit| limit.is_zero()) {
            return Err(ConfigError::NoTime.into());
        }
        config.recall.as_ref().map_or(Ok(()), Recall::check)?;
        let llm = self.llm;
        let evaluator = self.evaluator.or_else(|| {
            let llm = llm.clone()?;
            Some(Arc::new(LlmEvaluator::new(llm)))
        });
        let reflection = self.reflection.or_else(|| {
            let llm = llm.clone()?;
            Some(Arc::new(LlmReflection::new(llm)))
        });
        let reflects = config.max_trials > 1 || config.reflect_on_last_failure;
        if reflects && reflection.is_none() {
            return Err(ConfigError::NoReflection.into());
        }
        Ok(Reflexion {
            actor: self.actor,
            evaluator: evaluator.ok_or(ConfigError::NoEvaluator)?,
            reflection,
            config: Arc::new(config),
        })
    }
}

impl fmt::Debug for ReflexionBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReflexionBuilder")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("max_trials", &self.max_trials)
            .field("memory_size", &self.memory_size)
            .field("reflect_on_last_failure", &self.reflect_on_last_failure)
            .field("on_reflection_error", &self.on_reflection_error)
            .field("trial_context", &self.trial_context)
            .field("trial_timeout", &self.trial_timeout)
            .finish_non_exhaustive()
    }
}
