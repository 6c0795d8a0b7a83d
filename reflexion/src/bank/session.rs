use std::sync::Arc;
use std::time::Instant;

use reflect_sdk::{AugmentedTask, Error, TraceGuard, TraceHandle};
use reflect_types::TraceId;

use super::record::Record;
use super::settings::{Bank, Persist};
use crate::clock::within;
use crate::erased::BoxFuture;
use crate::error::ReflexionError;
use crate::id::RunId;
use crate::outcome::{Outcome, PersistError, Trial};
use crate::recording::{Recalled, Recorder, Recording, RunResult};

/// The recording of one run. Its trace is open from the recall to the end of the run.
pub(super) struct Session {
    bank: Arc<Bank>,
    run_id: RunId,
    task: String,
    recalled: Recalled,
    /// The trace of the run; `None` if nothing is stored.
    trace: Option<TraceGuard>,
    submitted: Vec<Submission>,
}

/// A trace on its way to Reflect.
struct Submission {
    trial: u32,
    handle: TraceHandle,
}

/// What became of the traces of a run.
#[derive(Default)]
struct Storage {
    trace_ids: Vec<TraceId>,
    errors: Vec<PersistError>,
    /// The first error that left a trace unstored.
    loss: Option<Error>,
}

impl Session {
    pub(super) async fn open(bank: Arc<Bank>, run_id: RunId, task: String) -> Self {
        let trace = bank.run_trace(&task).await;
        let augmented = AugmentedTask::new(task, trace.memories().to_vec());
        let recalled = Recalled {
            text: augmented.memory_blocks(),
            memories: augmented.memories,
            error: trace.retrieval_error().map(ToString::to_string),
        };
        let mut session = Self {
            bank,
            run_id,
            task: augmented.task,
            recalled,
            trace: None,
            submitted: Vec::new(),
        };
        match session.bank.persist {
            Some(_) => session.trace = Some(trace),
            None => trace.discard(),
        }
        session
    }

    fn submit(&mut self, trial: u32, trace: TraceGuard, record: Record<'_>) {
        trace.set_output(record.into_output());
        let handle = trace.submit();
        self.submitted.push(Submission { trial, handle });
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
        let storage = self.wait().await;
        if let Some(outcome) = outcome_mut(&mut result) {
            outcome.trace_ids = storage.trace_ids;
            outcome.persist_errors = storage.errors;
        }
        match (result, storage.loss) {
            (Ok(outcome), Some(source)) if strict => Err(ReflexionError::Persist {
                source: source.into(),
                outcome: Box::new(outcome),
            }),
            (result, _) => result,
        }
    }

    /// Waits until the traces are stored and learned from, within the time limit.
    async fn wait(self) -> Storage {
        let (limit, start) = (self.bank.timeout, Instant::now());
        let mut storage = Storage::default();
        for Submission { trial, handle } in self.submitted {
            let left = limit.saturating_sub(start.elapsed());
            let waited = within(left, handle.wait()).await;
            let trace_id = handle.trace_id();
            let error = match waited {
                Some(Ok(receipt)) => {
                    storage.trace_ids.push(receipt.trace_id);
                    continue;
                }
                Some(Err(Error::Disabled)) => continue,
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
            storage.trace_ids.extend(trace_id.clone());
            storage.errors.push(PersistError {
                trial,
                problem: error.to_string(),
                trace_id: trace_id.clone(),
            });
            if trace_id.is_none() && storage.loss.is_none() {
                storage.loss = Some(error);
            }
        }
        storage
    }
}

impl Recorder for Bank {
    fn open(
        self: Arc<Self>,
        run_id: RunId,
        task: String,
    ) -> BoxFuture<'static, Box<dyn Recording>> {
        Box::pin(async move {
            let session = Session::open(self, run_id, task).await;
            Box::new(session) as Box<dyn Recording>
        })
    }
}

impl Recording for Session {
    fn recalled(&mut self) -> Recalled {
        std::mem::take(&mut self.recalled)
    }

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

fn outcome_mut(result: &mut RunResult) -> Option<&mut Outcome> {
    match result {
        Ok(outcome) => Some(outcome),
        Err(ReflexionError::Stage { partial, .. }) => Some(partial),
        Err(_) => None,
    }
}

fn last_trial(result: &RunResult) -> u32 {
    match result {
        Err(ReflexionError::Stage { trial, .. }) => *trial,
        Ok(outcome) => outcome.last().map_or(1, Trial::number),
        Err(_) => 1,
    }
}
