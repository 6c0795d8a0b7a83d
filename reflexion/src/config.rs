use std::sync::Arc;
use std::time::Duration;

use crate::actor::SharedActor;
use crate::evaluation::SharedEvaluator;
use crate::hooks::{DynHooks, Event};
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

/// The parts and options of a loop.
pub(crate) struct Config {
    pub(crate) actor: SharedActor,
    pub(crate) evaluator: SharedEvaluator,
    /// `None` only where no trial is reflected on.
    pub(crate) reflection: Option<SharedSelfReflection>,
    pub(crate) options: Options,
    pub(crate) listeners: Listeners,
    pub(crate) recorder: Option<Arc<dyn Recorder>>,
}

#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) max_trials: u32,
    pub(crate) memory_size: usize,
    pub(crate) reflect_on_last_failure: bool,
    pub(crate) on_reflection_error: OnReflectionError,
    pub(crate) trial_context: TrialContext,
    pub(crate) trial_timeout: Option<Duration>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            max_trials: DEFAULT_MAX_TRIALS,
            memory_size: DEFAULT_MEMORY_SIZE,
            reflect_on_last_failure: false,
            on_reflection_error: OnReflectionError::default(),
            trial_context: TrialContext::default(),
            trial_timeout: None,
        }
    }
}

type EventObserver = Box<dyn Fn(&Event) + Send + Sync>;

#[derive(Default)]
pub(crate) struct Listeners {
    pub(crate) hooks: Vec<Box<dyn DynHooks>>,
    pub(crate) observers: Vec<EventObserver>,
}
