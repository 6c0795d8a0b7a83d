use std::sync::Arc;
use std::time::Instant;

use reflect_sdk::{AugmentedTask, Error, TraceGuard, TraceHandle};

use super::record::Record;
use super::settings::{Bank, Persist};
use crate::clock::within;
use crate::erased::BoxFuture;
use crate::error::ReflexionError;
use crate::hooks::RunId;
use crate::outcome::{Outcome, PersistError, Trial};
use crate::recording::{Recalled, Recorder, Recording, RunResult};

/// The recording of one run. Its trace is open from the recall to the end of the run.
pub(super) struct Session {
    bank: Arc<Bank>,
    run_id: RunId,
    task: String,
    /// The trace of the run; `None` if nothing is stored.
    trace: Option<TraceGuard>,
    /// The traces on their way to Reflect, by the numbers of their trials.
    submitted: Vec<(u32, TraceHandle)>,
}

impl Session {
    fn submit(&mut self, trial: u32, trace: TraceGuard, record: Record<'_>) {
        trace.set_output(record.into_output());
        self.submitted.push((trial, trace.submit()));
    }

    async fn store(mut self: Box<Self>, mut result: RunResult) -> RunResult {
        let Some(trace) = self.trace.take() else {
            return result;
        };
        let record = match (self.bank.persist, &result) {
            (Some(Persist::EachTrial), result) => Record::of_last_trial(result),
            (_, Ok(outcome)) => Record::of_run(outcome),
            (_, Err(error)) => Record::of_error(error),
        };
        self.submit(last_trial(&result), trace, record);

        let strict = self.bank.strict;
        let loss = match &mut result {
            Ok(outcome) => self.wait(outcome).await,
            Err(ReflexionError::Stage { partial, .. }) => self.wait(partial).await,
            Err(_) => None,
        };
        match (result, loss) {
            (Ok(outcome), Some(source)) if strict => Err(ReflexionError::Persist {
                source: source.into(),
                outcome: Box::new(outcome),
            }),
            (result, _) => result,
        }
    }

    /// Waits until the traces are stored and learned from, within the time limit. Returns the first
    /// error that left a trace unstored.
    async fn wait(self, outcome: &mut Outcome) -> Option<Error> {
        let (limit, start) = (self.bank.timeout, Instant::now());
        let mut loss = None;
        for (trial, handle) in self.submitted {
            let left = limit.saturating_sub(start.elapsed());
            let waited = within(left, handle.wait()).await;
            let trace_id = handle.trace_id();
            outcome.trace_ids.extend(trace_id.clone());
            let error = match waited {
                Some(Ok(_) | Err(Error::Disabled)) => continue,
                Some(Err(error)) => error,
                None => Error::Timeout {
                    what: match &trace_id {
                        Some(_) => "the memory of the trace".to_owned(),
                        None => "storing the trace, which is still being sent,".to_owned(),
                    },
                    after: limit,
                },
            };
            tracing::warn!(run = %self.run_id, trial, %error, "a trace is not stored and learned from");
            let is_lost = trace_id.is_none();
            outcome.persist_errors.push(PersistError {
                trial,
                trace_id,
                problem: error.to_string(),
            });
            if is_lost {
                loss.get_or_insert(error);
            }
        }
        loss
    }
}

impl Recorder for Bank {
    fn open(
        self: Arc<Self>,
        run_id: RunId,
        task: String,
    ) -> BoxFuture<'static, (Recalled, Box<dyn Recording>)> {
        Box::pin(async move {
            let trace = self.run_trace(&task).await;
            let augmented = AugmentedTask::new(task, trace.memories().to_vec());
            let recalled = Recalled {
                text: augmented.memory_blocks(),
                memories: augmented.memories,
                error: trace.retrieval_error().map(ToString::to_string),
            };
            let mut session = Box::new(Session {
                bank: self,
                run_id,
                task: augmented.task,
                trace: None,
                submitted: Vec::new(),
            });
            match session.bank.persist {
                Some(_) => session.trace = Some(trace),
                None => trace.discard(),
            }
            (recalled, session as Box<dyn Recording>)
        })
    }
}

impl Recording for Session {
    fn failed_trial(&mut self, trial: &Trial) {
        if self.bank.persist == Some(Persist::EachTrial) {
            // Without retrieval, opening a trace does not block.
            let trace = self.bank.trial_trace(&self.task).start_blocking();
            let record = Record::of_trial(trial)
                .detail("trial", Some(trial.number()))
                .detail("run", Some(self.run_id.as_str()));
            self.submit(trial.number(), trace, record);
        }
    }

    fn finish(self: Box<Self>, result: RunResult) -> BoxFuture<'static, RunResult> {
        Box::pin(self.store(result))
    }
}

fn last_trial(result: &RunResult) -> u32 {
    match result {
        Err(ReflexionError::Stage { trial, .. }) => *trial,
        Ok(outcome) => outcome.last().map_or(1, Trial::number),
        Err(_) => 1,
    }
}
