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

type Open = Arc<dyn Fn(&str) -> TraceBuilder + Send + Sync>;
type Options = Arc<dyn Fn(TraceBuilder) -> TraceBuilder + Send + Sync>;

/// The memory options of a loop.
#[derive(Clone)]
pub(crate) struct Settings {
    open: Option<Open>,
    pub(super) recall: Option<u32>,
    pub(super) persist: Option<Persist>,
    pub(crate) options: Option<Options>,
    pub(crate) timeout: Duration,
    pub(crate) strict: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            open: None,
            recall: None,
            persist: None,
            options: None,
            timeout: Duration::from_secs(5),
            strict: false,
        }
    }
}

impl Settings {
    pub(crate) fn recall<M>(&mut self, client: &ReflectClient<M>, limit: u32)
    where
        M: Send + Sync + 'static,
    {
        self.connect(client);
        self.recall = Some(limit);
    }

    pub(crate) fn persist<M>(&mut self, client: &ReflectClient<M>, what: Persist)
    where
        M: Send + Sync + 'static,
    {
        self.connect(client);
        self.persist = Some(what);
    }

    fn connect<M: Send + Sync + 'static>(&mut self, client: &ReflectClient<M>) {
        let client = client.clone();
        self.open = Some(Arc::new(move |task| client.trace(task)));
    }

    /// The recorder of the loop; `None` if it neither recalls nor persists.
    pub(crate) fn into_recorder(self) -> Result<Option<Arc<dyn Recorder>>, ConfigError> {
        match self.recall {
            None | Some(1..=QueryMemories::MAX_LIMIT) => {}
            Some(limit) => return Err(ConfigError::RecallLimit(limit)),
        }
        let Some(open) = self.open.clone() else {
            return Ok(None);
        };
        let bank = Bank {
            open,
            settings: self,
        };
        Ok(Some(Arc::new(bank)))
    }
}

/// Opens the traces of a loop.
pub(super) struct Bank {
    open: Open,
    pub(super) settings: Settings,
}

impl Bank {
    /// The trace of a run, which retrieves memories if the loop recalls.
    pub(super) fn run_trace(&self, task: &str) -> TraceBuilder {
        match self.settings.recall {
            Some(limit) => self.configure((self.open)(task).limit(limit)),
            None => self.trial_trace(task),
        }
    }

    /// The trace of a trial, which retrieves nothing.
    pub(super) fn trial_trace(&self, task: &str) -> TraceBuilder {
        self.configure((self.open)(task)).no_retrieval()
    }

    fn configure(&self, trace: TraceBuilder) -> TraceBuilder {
        let trace = trace.blocking(self.settings.timeout);
        match &self.settings.options {
            Some(options) => options(trace),
            None => trace,
        }
    }
}
