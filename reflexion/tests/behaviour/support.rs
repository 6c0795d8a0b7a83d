//! Scripted parts with logs of their inputs.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex};

use reflexion::{
    Actor, Attempt, BoxError, Evaluation, Event, FailedTrial, HookResult, Hooks, Outcome,
    Reflexion, ReflexionBuilder, ReflexionError, Trajectory, TrialId,
};

/// A list shared by its clones.
#[derive(Debug)]
pub(crate) struct Log<T>(Arc<Mutex<Vec<T>>>);

impl<T> Default for Log<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> Clone for Log<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Clone> Log<T> {
    pub(crate) fn add(&self, item: T) -> usize {
        let mut items = self.0.lock().unwrap();
        items.push(item);
        items.len()
    }

    pub(crate) fn all(&self) -> Vec<T> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

/// A loop whose trial number `n` answers `answer n`, which fails until trial `good` and is
/// reflected on with `lesson n`. The inputs of all parts are in the logs.
#[derive(Clone, Default)]
pub(crate) struct Bench {
    pub(crate) attempts: Log<Attempt>,
    pub(crate) judged: Log<Trajectory>,
    pub(crate) reflected: Log<FailedTrial>,
    pub(crate) events: Log<Event>,
}

impl Bench {
    pub(crate) fn builder(&self, good: u32) -> ReflexionBuilder {
        let (attempts, judged, reflected, events) = (
            self.attempts.clone(),
            self.judged.clone(),
            self.reflected.clone(),
            self.events.clone(),
        );
        Reflexion::builder(move |attempt: Attempt| {
            let answer = format!("answer {}", attempt.trial);
            attempts.add(attempt);
            async move { answer }
        })
        .evaluate_with(move |trial| {
            judged.add(trial.clone());
            if trial.trial >= good {
                Evaluation::pass()
            } else {
                Evaluation::fail(format!("feedback {}", trial.trial))
            }
        })
        .reflect_with(move |failed| {
            let lesson = format!("lesson {}", failed.trajectory.trial);
            reflected.add(failed);
            lesson
        })
        .on_event(move |event| {
            events.add(event.clone());
        })
    }

    pub(crate) async fn run(&self, good: u32) -> Outcome {
        run(self.builder(good)).await.unwrap()
    }

    /// The tasks that actor, evaluator and self-reflection have seen.
    pub(crate) fn tasks(&self) -> BTreeSet<String> {
        let attempts = self.attempts.all().into_iter().map(|attempt| attempt.task);
        let judged = self.judged.all().into_iter().map(|trial| trial.task);
        let reflected = self.reflected.all().into_iter();
        let reflected = reflected.map(|failed| failed.trajectory.task);
        attempts.chain(judged).chain(reflected).collect()
    }
}

pub(crate) async fn run(builder: ReflexionBuilder) -> Result<Outcome, ReflexionError> {
    builder.build()?.run("the task").await
}

/// One trial of an actor, which passes.
pub(crate) async fn attempt_once(actor: impl Actor) -> Result<Outcome, ReflexionError> {
    let builder = Reflexion::builder(actor).evaluate_with(|_| true);
    run(builder.max_trials(1)).await
}

/// Hooks that log their calls, and fail at one of them.
#[derive(Default)]
pub(crate) struct LoggingHooks {
    pub(crate) name: &'static str,
    pub(crate) log: Log<(TrialId, String)>,
    pub(crate) fails_at: &'static str,
}

impl LoggingHooks {
    fn call(&self, trial: &TrialId, what: &str) -> HookResult {
        let call = format!("{}{what}", self.name);
        self.log.add((trial.clone(), call.clone()));
        if call == self.fails_at {
            return Err(Broken("mine").into());
        }
        Ok(())
    }
}

impl Hooks for LoggingHooks {
    async fn on_trial_start(&self, trial: &TrialId) -> HookResult {
        self.call(trial, &format!("start{}", trial.number))
    }

    async fn on_trial_end(&self, trial: &TrialId, evaluation: &Evaluation) -> HookResult {
        let success = evaluation.success;
        self.call(trial, &format!("end{}:{success}", trial.number))
    }

    async fn on_reflection_generated(&self, trial: &TrialId, reflection: &str) -> HookResult {
        assert_eq!(reflection, format!("lesson {}", trial.number));
        self.call(trial, &format!("reflection{}", trial.number))
    }
}

/// A model with scripted replies, and a log of its prompts.
pub(crate) fn scripted_llm(
    replies: &'static [&'static str],
) -> (
    Log<String>,
    impl Fn(String) -> std::future::Ready<Result<&'static str, BoxError>> + Clone,
) {
    let prompts = Log::default();
    let log = prompts.clone();
    let llm = move |prompt: String| {
        let call = log.add(prompt);
        let reply = replies.get(call - 1).copied();
        std::future::ready(reply.ok_or_else(|| format!("no reply for call {call}").into()))
    };
    (prompts, llm)
}

/// An error of the user, to be found as a source.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Broken(pub(crate) &'static str);

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Broken {}
