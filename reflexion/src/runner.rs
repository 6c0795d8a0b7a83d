use std::sync::Arc;
use std::time::{Instant, SystemTime};

use crate::attempt::{Attempt, Attempted};
use crate::clock::within;
use crate::config::{Config, OnReflectionError, TrialContext};
use crate::erased::BoxError;
use crate::error::{ReflexionError, Stage};
use crate::evaluation::{Evaluation, Evaluator as _};
use crate::hooks::{Event, EventKind, HookCall, RunId, TrialId};
use crate::outcome::{Outcome, Status, Trial};
use crate::recording::{Recording, RunResult};
use crate::self_reflection::{FailedTrial, MemoryEntry, SelfReflection as _};
use crate::trajectory::{Task, Trajectory};
use crate::{Actor as _, prompt, verdict};

/// The state of one run.
pub(crate) struct Runner {
    config: Arc<Config>,
    task: Task,
    /// The outcome so far.
    outcome: Outcome,
    /// The recalled memories as text for a prompt.
    recalled: String,
    recording: Option<Box<dyn Recording>>,
}

/// The part that failed, and its error.
struct Failure(Stage, BoxError);

impl Runner {
    pub(crate) fn new(
        config: Arc<Config>,
        task: Task,
        reflections: impl IntoIterator<Item = MemoryEntry>,
    ) -> Self {
        let mut runner = Self {
            config,
            task,
            outcome: Outcome::new(RunId::generate()),
            recalled: String::new(),
            recording: None,
        };
        runner.remember(reflections);
        runner
    }

    pub(crate) async fn run(mut self) -> RunResult {
        self.open_recording().await;
        let ended = self.run_trials().await;
        let mut outcome = self.outcome;
        let result = match ended {
            Ok(status) => {
                outcome.status = status;
                Ok(outcome)
            }
            Err((trial, Failure(stage, source))) => {
                let run = &outcome.run_id;
                tracing::debug!(%run, trial, %stage, error = %source, "run aborted");
                Err(ReflexionError::Stage {
                    trial,
                    stage,
                    source,
                    partial: Box::new(outcome),
                })
            }
        };
        match self.recording {
            Some(recording) => recording.finish(result).await,
            None => result,
        }
    }

    async fn open_recording(&mut self) {
        if let Some(recorder) = self.config.recorder.clone() {
            let opening = recorder.open(self.outcome.run_id.clone(), self.task.text());
            let (recalled, recording) = opening.await;
            self.outcome.recalled = recalled.memories;
            self.outcome.recall_error = recalled.error;
            self.recalled = recalled.text;
            self.recording = Some(recording);
        }
    }

    /// Runs trials until one does the task, or none is left.
    async fn run_trials(&mut self) -> Result<Status, (u32, Failure)> {
        let last = self.config.options.max_trials;
        for number in 1..=last {
            let done = self.run_trial(number, number == last).await;
            if done.map_err(|failure| (number, failure))? {
                return Ok(Status::Succeeded);
            }
            if let (Some(recording), Some(trial)) = (&mut self.recording, self.outcome.last()) {
                if number < last {
                    recording.failed_trial(trial);
                }
            }
        }
        Ok(Status::Exhausted)
    }

    /// Runs one trial; returns whether it did the task.
    async fn run_trial(&mut self, number: u32, is_last: bool) -> Result<bool, Failure> {
        let id = TrialId::new(self.outcome.run_id.clone(), number);
        self.call_hooks(&id, HookCall::TrialStart).await?;
        self.emit(EventKind::TrialStart {
            trial_number: number,
        });

        let trajectory = self.attempt(number).await?;
        // Added before the evaluation, so that no later error loses the answer.
        self.outcome.trials.push(Trial::new(trajectory.clone()));
        let evaluation = self.evaluate(trajectory.clone()).await?;
        self.update_trial(|trial| trial.evaluation = Some(evaluation.clone()));

        let reflects = !is_last || self.config.options.reflect_on_last_failure;
        if !evaluation.success && reflects {
            self.reflect(&id, trajectory, &evaluation).await?;
        }
        self.call_hooks(&id, HookCall::TrialEnd(&evaluation))
            .await?;
        let success = evaluation.success;
        self.emit(EventKind::TrialEnd {
            trial_number: number,
            success,
            feedback: evaluation.feedback,
        });
        Ok(success)
    }

    async fn attempt(&self, number: u32) -> Result<Trajectory, Failure> {
        let attempt = self.prepare_attempt(number);
        let (started_at, clock) = (SystemTime::now(), Instant::now());
        let attempted = self
            .act(attempt)
            .await
            .map_err(|error| Failure(Stage::Actor, error))?;
        let trajectory = Trajectory::new(number, self.task.clone(), attempted);
        Ok(trajectory.timed(started_at, clock.elapsed()))
    }

    fn prepare_attempt(&self, number: u32) -> Attempt {
        let task = self.task.text();
        let previous = match self.config.options.trial_context {
            TrialContext::Fresh => None,
            TrialContext::LastAttempt => self.outcome.last().map(|trial| trial.trajectory.clone()),
        };
        let asked = self.task.prompt.as_deref().unwrap_or(&task);
        let memory = self.outcome.memory.clone();
        Attempt {
            run_id: self.outcome.run_id.clone(),
            trial: number,
            prompt: prompt::attempt(asked, &self.recalled, &memory, previous.as_ref()),
            task,
            inputs: self.task.inputs.clone(),
            recalled: self.outcome.recalled.clone(),
            memory,
            previous,
        }
    }

    async fn act(&self, attempt: Attempt) -> Result<Attempted, BoxError> {
        let future = self.config.actor.attempt(attempt);
        let Some(limit) = self.config.options.trial_timeout else {
            return future.await;
        };
        within(limit, future).await.unwrap_or_else(|| {
            let reason = format!("The trial was stopped: it took longer than {limit:?}.");
            Ok(Attempted::halted(reason))
        })
    }

    async fn evaluate(&self, trajectory: Trajectory) -> Result<Evaluation, Failure> {
        if let Some(reason) = trajectory.halted {
            return Ok(Evaluation::fail(reason));
        }
        let evaluated = self.config.evaluator.evaluate(trajectory).await;
        evaluated
            .map(Evaluation::checked)
            .map_err(|error| Failure(Stage::Evaluator, error))
    }

    async fn reflect(
        &mut self,
        id: &TrialId,
        trajectory: Trajectory,
        evaluation: &Evaluation,
    ) -> Result<(), Failure> {
        let Some(text) = self.write_reflection(trajectory, evaluation).await? else {
            return Ok(());
        };
        self.update_trial(|trial| trial.reflection = Some(text.clone()));
        self.remember([MemoryEntry {
            trial: id.number,
            reflection: text.clone(),
        }]);
        self.call_hooks(id, HookCall::ReflectionGenerated(&text))
            .await?;
        self.emit(EventKind::ReflectionGenerated {
            trial_number: id.number,
            reflection: text,
        });
        Ok(())
    }

    /// The reflection, else the feedback; `None` if neither says more than a verdict.
    async fn write_reflection(
        &mut self,
        trajectory: Trajectory,
        evaluation: &Evaluation,
    ) -> Result<Option<String>, Failure> {
        // `build` refuses a loop that needs a self-reflection and has none.
        let Some(reflection) = &self.config.reflection else {
            return Ok(None);
        };
        let memory = self.outcome.memory.clone();
        let failed = FailedTrial::new(trajectory, evaluation.clone(), memory);
        let text = match reflection.reflect(failed).await {
            Ok(text) => text,
            Err(error) => match self.config.options.on_reflection_error {
                OnReflectionError::Abort => return Err(Failure(Stage::Reflection, error)),
                OnReflectionError::UseFeedback => {
                    tracing::warn!(run = %self.outcome.run_id, %error, "self-reflection failed");
                    self.update_trial(|trial| trial.reflection_error = Some(error.to_string()));
                    String::new()
                }
            },
        };
        let mut texts = [text, evaluation.feedback.clone()].into_iter();
        Ok(texts.find(|text| !verdict::is_bare(text)))
    }

    /// Adds to the episodic memory, which drops its oldest entries when it is full.
    fn remember(&mut self, entries: impl IntoIterator<Item = MemoryEntry>) {
        let (memory, size) = (&mut self.outcome.memory, self.config.options.memory_size);
        memory.extend(entries);
        memory.drain(..memory.len().saturating_sub(size));
    }

    /// Changes the current trial.
    fn update_trial(&mut self, change: impl FnOnce(&mut Trial)) {
        if let Some(trial) = self.outcome.trials.last_mut() {
            change(trial);
        }
    }

    async fn call_hooks(&self, id: &TrialId, call: HookCall<'_>) -> Result<(), Failure> {
        for hooks in &self.config.listeners.hooks {
            let called = hooks.call(id, call).await;
            called.map_err(|error| Failure(Stage::Hook(call.point()), error))?;
        }
        Ok(())
    }

    fn emit(&self, kind: EventKind) {
        let event = Event::new(self.outcome.run_id.clone(), kind);
        tracing::debug!(?event, "reflexion");
        for observe in &self.config.listeners.observers {
            observe(&event);
        }
    }
}
