use std::sync::Arc;
use std::time::Duration;

use reflect_types::{CreateTrace, TraceId};
use tokio::time::timeout;

use super::account::Account;
use super::builder::Config;
use super::{Outcome, Persist, PersistError, ReflexionError, Trial};
use crate::client::{Handle, idempotency_key};
use crate::core::Cause;
use crate::error::Error;
use crate::outbox::{Delivery, PendingRun};

/// Stores one run.
pub(super) struct Keeper {
    client: Arc<Handle>,
    what: Persist,
    limit: Duration,
    strict: bool,
    /// As the user gave it, without anything learned.
    task: String,
    /// Names the run in the traces of its trials.
    run: String,
    sent: Vec<Sent>,
}

struct Sent {
    trial: u32,
    delivery: Arc<Delivery>,
}

/// What became of the traces of a run.
#[derive(Default)]
struct Kept {
    stored: Vec<TraceId>,
    failed: Vec<(u32, Error)>,
}

impl Keeper {
    /// `None` where nothing is to be stored.
    pub(super) fn new(config: &Config, task: &str) -> Option<Self> {
        let (client, what) = config.persist.as_ref()?;
        client.core().is_enabled().then(|| Self {
            client: Arc::clone(client),
            what: *what,
            limit: config.persist_timeout,
            strict: config.strict_persist,
            task: task.to_owned(),
            run: idempotency_key(),
            sent: Vec::new(),
        })
    }

    /// A trial has failed, and another follows.
    pub(super) fn keep_trial(&mut self, trial: &Trial) {
        if self.what == Persist::EachTrial {
            let account = Account::of_trial(trial).detail("trial", Some(trial.number()));
            let account = account.detail("run", Some(self.run.as_str()));
            self.hand_over(trial.number(), account.into_trace(&self.task));
        }
    }

    /// The run has ended: stores the rest, and adds to the result what became of it all.
    pub(super) async fn finish(
        mut self,
        mut result: Result<Outcome, ReflexionError>,
    ) -> Result<Outcome, ReflexionError> {
        let account = match (self.what, &result) {
            (Persist::EachTrial, result) => {
                Account::of_last_trial(result).detail("run", Some(self.run.as_str()))
            }
            (Persist::Final, Ok(outcome)) => Account::of_run(outcome),
            (Persist::Final, Err(error)) => Account::of_error(error),
        };
        let mut trace = account.into_trace(&self.task);
        let recalled = outcome_of(&mut result).map(|outcome| &outcome.recalled);
        let ids = recalled.into_iter().flatten().map(|memory| &memory.id);
        trace.retrieved_memory_ids = ids.cloned().collect();
        self.hand_over(last_trial(&result), trace);

        let strict = self.strict;
        let Kept { stored, failed } = self.wait().await;
        if let Some(outcome) = outcome_of(&mut result) {
            outcome.trace_ids = stored;
            outcome.persist_errors = failed.iter().map(PersistError::from).collect();
        }
        match (result, failed.into_iter().next()) {
            (Ok(outcome), Some((_, source))) if strict => Err(ReflexionError::Persist {
                source: source.into(),
                outcome: Box::new(outcome),
            }),
            (result, _) => result,
        }
    }

    fn hand_over(&mut self, trial: u32, trace: CreateTrace) {
        let (core, delivery) = (self.client.core(), Arc::<Delivery>::default());
        let trace = CreateTrace {
            idempotency_key: Some(idempotency_key()),
            ..trace
        };
        let run = PendingRun::new(Arc::clone(core), trace, Arc::clone(&delivery), None);
        self.client.submit(run);
        self.sent.push(Sent { trial, delivery });
    }

    async fn wait(self) -> Kept {
        let limit = self.limit;
        let deliveries: Vec<_> = self.sent.iter().map(|sent| sent.delivery.clone()).collect();
        let settled = async move {
            for delivery in deliveries {
                // What became of it is looked at below.
                let _ = delivery.wait().await;
            }
        };
        let core = self.client.core();
        // On the client's own thread, because only there a clock is certain.
        let waiting = core
            .worker()
            .spawn(async move { timeout(limit, settled).await });
        if let Ok(waiting) = waiting {
            // Whether the time was up, or the thread is gone, shows in what is not settled.
            let _ = waiting.await;
        }
        let mut kept = Kept::default();
        for Sent { trial, delivery } in self.sent {
            match delivery.outcome() {
                Some(Ok(receipt)) => kept.stored.push(receipt.trace_id),
                // The sender has told of it.
                Some(Err(error)) => kept.failed.push((trial, error)),
                None => {
                    let error = Error::Timeout {
                        what: "storing the trace, which is still being sent,".to_owned(),
                        after: limit,
                    };
                    core.notices.warn(Cause::Submission, &error);
                    kept.failed.push((trial, error));
                }
            }
        }
        kept
    }
}

impl From<&(u32, Error)> for PersistError {
    fn from((trial, error): &(u32, Error)) -> Self {
        Self {
            trial: *trial,
            problem: error.to_string(),
        }
    }
}

fn outcome_of(result: &mut Result<Outcome, ReflexionError>) -> Option<&mut Outcome> {
    match result {
        Ok(outcome) => Some(outcome),
        Err(error) => error.partial_mut(),
    }
}

fn last_trial(result: &Result<Outcome, ReflexionError>) -> u32 {
    match result {
        Err(ReflexionError::Stage { trial, .. }) => *trial,
        Ok(outcome) => outcome.last().map_or(1, Trial::number),
        Err(_) => 1,
    }
}
