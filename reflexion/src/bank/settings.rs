use std::sync::Arc;
use std::time::Duration;

use reflect_sdk::{ReflectClient, TraceBuilder};
use reflect_types::QueryMemories;

use crate::error::ConfigError;
use crate::recording::Recorder;

/// What is stored of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Persist {
    /// One trace: the last trial, the verdict on the run, and the reflections on failed trials.
    #[default]
    Final,
    /// One trace per trial. The reflection on a failed trial becomes its memory, word for word.
    /// Only the last trace credits the recalled memories, so that a run counts once for them.
    EachTrial,
}

type Open = dyn Fn(&str) -> TraceBuilder + Send + Sync;
type Configure = dyn Fn(TraceBuilder) -> TraceBuilder + Send + Sync;

/// The memory options of a loop, which opens traces with them.
pub(crate) struct Bank {
    open: Box<Open>,
    pub(crate) recall: Option<u32>,
    pub(crate) persist: Option<Persist>,
    pub(crate) configure: Box<Configure>,
    pub(crate) timeout: Duration,
    pub(crate) strict: bool,
}

impl Default for Bank {
    fn default() -> Self {
        Self {
            open: Box::new(|task| ReflectClient::disabled().trace(task)),
            recall: None,
            persist: None,
            configure: Box::new(|trace| trace),
            timeout: Duration::from_secs(5),
            strict: false,
        }
    }
}

impl Bank {
    pub(crate) fn connect<M: Send + Sync + 'static>(&mut self, client: &ReflectClient<M>) {
        let client = client.clone();
        self.open = Box::new(move |task| client.trace(task));
    }

    /// The recorder of the loop; `None` if it neither recalls nor persists.
    pub(crate) fn into_recorder(self) -> Result<Option<Arc<dyn Recorder>>, ConfigError> {
        match self.recall {
            None if self.persist.is_none() => Ok(None),
            None | Some(1..=QueryMemories::MAX_LIMIT) => Ok(Some(Arc::new(self))),
            Some(limit) => Err(ConfigError::RecallLimit(limit)),
        }
    }

    /// The trace of a run, which retrieves memories if the loop recalls.
    pub(super) fn run_trace(&self, task: &str) -> TraceBuilder {
        match self.recall {
            Some(limit) => self.configured((self.open)(task).limit(limit)),
            None => self.trial_trace(task),
        }
    }

    /// The trace of a trial, which retrieves nothing.
    pub(super) fn trial_trace(&self, task: &str) -> TraceBuilder {
        self.configured((self.open)(task)).no_retrieval()
    }

    fn configured(&self, trace: TraceBuilder) -> TraceBuilder {
        (self.configure)(trace.until_learned(self.timeout))
    }
}
