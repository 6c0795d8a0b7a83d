//! Scripted parts with logs of their inputs.

use std::fmt;
use std::sync::{Arc, Mutex};

use reflexion::{
    Attempt, BoxError, Evaluation, Event, FailedTrial, Outcome, Reflexion, ReflexionBuilder,
    ReflexionError, Trajectory,
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
    pub(crate) reflected: Log<FailedTrial<'static>>,
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
            reflected.add(failed.into_owned());
            lesson
        })
        .on_event(move |event| {
            events.add(event.clone());
        })
    }

    pub(crate) async fn run(&self, good: u32) -> Outcome {
        run(self.builder(good)).await.unwrap()
    }
}

pub(crate) async fn run(builder: ReflexionBuilder) -> Result<Outcome, ReflexionError> {
    builder.build()?.run("the task").await
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
