use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::actor::SharedActor;
use crate::evaluator::SharedEvaluator;
use crate::event::Event;
use crate::hooks::DynHooks;
use crate::recording::Recorder;
use crate::self_reflection::SharedSelfReflection;

/// The number of trials, unless set with [`max_trials`](crate::ReflexionBuilder::max_trials).
pub const DEFAULT_MAX_TRIALS: u32 = 3;

/// The number of reflections shown to the next trial, unless set with
/// [`memory_size`](crate::ReflexionBuilder::memory_size).
pub const DEFAULT_MEMORY_SIZE: usize = 3;

/// What a trial sees of the previous one, besides the reflections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TrialContext {
    /// Nothing: each trial starts fresh. Models tend to repeat attempts in their context.
    #[default]
    Fresh,
    /// Its steps and its answer, shortened.
    LastAttempt,
}

/// What happens when the self-reflection returns an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OnReflectionError {
    /// The run ends with an error that holds the trials so far.
    #[default]
    Abort,
    /// The run continues with the evaluator's feedback as the reflection. The error is in
    /// [`Trial::reflection_error`](crate::Trial::reflection_error).
    UseFeedback,
}

pub(crate) type EventObserver = Arc<dyn Fn(&Event) + Send + Sync>;

/// The parts of a loop.
#[derive(Clone)]
pub(crate) struct Parts {
    pub(crate) actor: SharedActor,
    pub(crate) evaluator: SharedEvaluator,
    /// `None` only where no trial is reflected on.
    pub(crate) reflection: Option<SharedSelfReflection>,
}

/// The options of a loop.
#[derive(Clone)]
pub(crate) struct Config {
    pub(crate) max_trials: u32,
    pub(crate) memory_size: usize,
    pub(crate) reflect_on_last_failure: bool,
    pub(crate) on_reflection_error: OnReflectionError,
    pub(crate) trial_context: TrialContext,
    pub(crate) trial_timeout: Option<Duration>,
    pub(crate) hooks: Vec<Arc<dyn DynHooks>>,
    pub(crate) observers: Vec<EventObserver>,
    pub(crate) recorder: Option<Arc<dyn Recorder>>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            max_trials: DEFAULT_MAX_TRIALS,
            memory_size: DEFAULT_MEMORY_SIZE,
            reflect_on_last_failure: false,
            on_reflection_error: OnReflectionError::default(),
            trial_context: TrialContext::default(),
            trial_timeout: None,
            hooks: Vec::new(),
            observers: Vec::new(),
            recorder: None,
        }
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
