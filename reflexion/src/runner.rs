use std::time::{Instant, SystemTime};

use reflect_types::Memory;

use super::boxed::BoxError;
use super::builder::{OnReflectionError, TrialContext};
use super::error::{HookPoint, ReflexionError, Stage};
use super::keeper::Keeper;
use super::outcome::{Outcome, Status, Trial};
use super::self_reflection::FailedTrial;
use super::timeout::within;
use super::{
    Attempt, Attempted, EpisodicMemory, Evaluation, Event, MemoryEntry, Reflexion, Trajectory,
    prompt,
};

/// One run of a loop: all that changes while it goes on.
pub(super) struct Runner {
    reflexion: Reflexion,
    task: String,
    memory: EpisodicMemory,
    trials: Vec<Trial>,
    recalled: Vec<Memory>,
    recall_error: Option<String>,
    keeper: Option<Keeper>,
}

/// What failed, before the rest of the run is packed with it.
struct Failure(Stage, BoxError);

impl Runner {
    pub(super) fn new(reflexion: Reflexion, task: String, memory: Vec<MemoryEntry>) -> Self {
        let mut bounded = EpisodicMemory::new(reflexion.config.memory_size);
        bounded.extend(memory);
        let keeper = Keeper::new(&reflexion.config, &task);
        Self {
            reflexion,
            task,
            memory: bounded,
            trials: Vec::new(),
            recalled: Vec::new(),
            recall_error: None,
            keeper,
        }
    }

    pub(super) async fn run(mut self) -> Result<Outcome, ReflexionError> {
        self.recall().await;
        let ended = self.try_repeatedly().await;
        let keeper = self.keeper.take();
        let result = match ended {
            Ok(status) => Ok(self.outcome(status)),
            Err((trial, Failure(stage, source))) => {
                tracing::debug!(trial, %stage, error = %source, "reflexion aborted");
                Err(ReflexionError::Stage {
                    trial,
                    stage,
                    source,
                    partial: Box::new(self.outcome(Status::Aborted)),
                })
            }
        };
        match keeper {
            Some(keeper) => keeper.finish(result).await,
            None => result,
        }
    }

    async fn recall(&mut self) {
        if let Some(recall) = &self.reflexion.config.recall {
            match recall.fetch(&self.task).await {
                Ok(memories) => self.recalled = memories,
                Err(error) => self.recall_error = Some(error.to_string()),
            }
        }
    }

    /// All trials there are, until one does the task.
    async fn try_repeatedly(&mut self) -> Result<Status, (u32, Failure)> {
        let last = self.reflexion.config.max_trials;
        for number in 1..=last {
            let done = self.trial(number, number == last).await;
            if done.map_err(|failure| (number, failure))? {
                return Ok(Status::Succeeded);
            }
            if number < last {
                self.keep_trial();
            }
        }
        Ok(Status::Exhausted)
    }

    fn keep_trial(&mut self) {
        if let (Some(keeper), Some(trial)) = (&mut self.keeper, self.trials.last()) {
            keeper.keep_trial(trial);
        }
    }

    fn outcome(self, status: Status) -> Outcome {
        Outcome {
            status,
            memory: self.memory.to_vec(),
            trials: self.trials,
            recalled: self.recalled,
            recall_error: self.recall_error,
            trace_ids: Vec::new(),
            persist_errors: Vec::new(),
        }
    }

    /// One trial from start to end; gives whether it did the task.
    async fn trial(&mut self, number: u32, is_last: bool) -> Result<bool, Failure> {
        for hook in &self.reflexion.config.hooks {
            hook.on_trial_start(number)
                .await
                .map_err(|error| Failure(Stage::Hook(HookPoint::TrialStart), error))?;
        }
        self.emit(&Event::TrialStart {
            trial_number: number,
        });

        let trajectory = self.attempt(number).await?;
        // Recorded before it is judged, so that no later error can lose the answer.
        self.trials.push(Trial::new(trajectory.clone()));
        let evaluation = self.evaluate(&trajectory).await?;
        self.record(|trial| trial.evaluation = Some(evaluation.clone()));

        let reflects = !is_last || self.reflexion.config.reflect_on_last_failure;
        if !evaluation.success && reflects {
            self.reflect(&trajectory, &evaluation).await?;
        }
        for hook in &self.reflexion.config.hooks {
            hook.on_trial_end(number, &evaluation)
                .await
                .map_err(|error| Failure(Stage::Hook(HookPoint::TrialEnd), error))?;
        }
        let success = evaluation.success;
        self.emit(&Event::TrialEnd {
            trial_number: number,
            success,
            feedback: evaluation.feedback,
        });
        Ok(success)
    }

    async fn attempt(&self, number: u32) -> Result<Trajectory, Failure> {
        let memory = self.memory.to_vec();
        let previous = match self.reflexion.config.trial_context {
            TrialContext::Fresh => None,
            TrialContext::LastAttempt => self.trials.last().map(|trial| trial.trajectory.clone()),
        };
        let attempt = Attempt {
            trial: number,
            task: self.task.clone(),
            prompt: prompt::attempt(&self.task, &self.recalled, &memory, previous.as_ref()),
            recalled: self.recalled.clone(),
            memory,
            previous,
        };
        let (started_at, clock) = (SystemTime::now(), Instant::now());
        let attempted = self
            .act(attempt)
            .await
            .map_err(|error| Failure(Stage::Actor, error))?;
        Ok(Trajectory::new(number, &self.task, attempted).timed(started_at, clock.elapsed()))
    }

    async fn act(&self, attempt: Attempt) -> Result<Attempted, BoxError> {
        let config = &self.reflexion.config;
        let future = self.reflexion.actor.attempt(attempt);
        let Some(limit) = config.trial_timeout else {
            return future.await;
        };
        within(limit, &*config.timer, future)
            .await
            .unwrap_or_else(|| {
                let reason = format!("The trial was stopped: it took longer than {limit:?}.");
                Ok(Attempted::halted(reason))
            })
    }

    async fn evaluate(&self, trajectory: &Trajectory) -> Result<Evaluation, Failure> {
        if let Some(reason) = &trajectory.halted {
            return Ok(Evaluation::fail(reason));
        }
        let evaluated = self.reflexion.evaluator.evaluate(trajectory).await;
        evaluated
            .map(Evaluation::checked)
            .map_err(|error| Failure(Stage::Evaluator, error))
    }

    async fn reflect(
        &mut self,
        trajectory: &Trajectory,
        evaluation: &Evaluation,
    ) -> Result<(), Failure> {
        let Some(text) = self.reflection_text(trajectory, evaluation).await? else {
            return Ok(());
        };
        let number = trajectory.trial;
        self.record(|trial| trial.reflection = Some(text.clone()));
        self.memory.push(MemoryEntry {
            trial: number,
            reflection: text.clone(),
        });
        for hook in &self.reflexion.config.hooks {
            hook.on_reflection_generated(number, &text)
                .await
                .map_err(|error| Failure(Stage::Hook(HookPoint::ReflectionGenerated), error))?;
        }
        self.emit(&Event::ReflectionGenerated {
            trial_number: number,
            reflection: text,
        });
        Ok(())
    }

    /// What to remember: the reflection, else the feedback, else nothing.
    async fn reflection_text(
        &mut self,
        trajectory: &Trajectory,
        evaluation: &Evaluation,
    ) -> Result<Option<String>, Failure> {
        // `build` refuses a loop that would need one and has none.
        let Some(reflection) = &self.reflexion.reflection else {
            return Ok(None);
        };
        let memory = self.memory.to_vec();
        let failed = FailedTrial::new(trajectory, evaluation, &memory);
        let text = match reflection.reflect(failed).await {
            Ok(text) => text,
            Err(error) => match self.reflexion.config.on_reflection_error {
                OnReflectionError::Abort => return Err(Failure(Stage::Reflection, error)),
                OnReflectionError::UseFeedback => {
                    tracing::warn!(trial = trajectory.trial, %error, "self-reflection failed");
                    self.record(|trial| trial.reflection_error = Some(error.to_string()));
                    String::new()
                }
            },
        };
        let text = [text, evaluation.feedback.clone()]
            .into_iter()
            .find(|text| !text.trim().is_empty());
        Ok(text)
    }

    /// Adds to what is known of the trial that is going on.
    fn record(&mut self, add: impl FnOnce(&mut Trial)) {
        if let Some(trial) = self.trials.last_mut() {
            add(trial);
        }
    }

    fn emit(&self, event: &Event) {
        tracing::debug!(?event, "reflexion");
        for observe in &self.reflexion.config.observers {
            observe(event);
        }
    }
}
