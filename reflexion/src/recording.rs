//! The port to a memory bank: what a run recalls before its first trial, and what it stores.

use std::sync::Arc;

use reflect_types::Memory;

use crate::erased::BoxFuture;
use crate::error::ReflexionError;
use crate::hooks::RunId;
use crate::outcome::{Outcome, Trial};

/// The result of a run.
pub(crate) type RunResult = Result<Outcome, ReflexionError>;

/// Opens a [`Recording`] for each run, with the memories for its prompts.
pub(crate) trait Recorder: Send + Sync {
    fn open(
        self: Arc<Self>,
        run_id: RunId,
        task: String,
    ) -> BoxFuture<'static, (Recalled, Box<dyn Recording>)>;
}

/// The recording of one run.
pub(crate) trait Recording: Send + Sync {
    /// Records a failed trial that another one follows.
    fn failed_trial(&mut self, trial: &Trial);

    /// Records the end of the run, and adds the IDs of stored traces and storage errors to its
    /// result.
    fn finish(self: Box<Self>, result: RunResult) -> BoxFuture<'static, RunResult>;
}

/// Memories of earlier runs.
pub(crate) struct Recalled {
    pub(crate) memories: Vec<Memory>,
    /// The memories as text for a prompt; empty if there are none.
    pub(crate) text: String,
    /// Why there are no memories, if they could not be retrieved.
    pub(crate) error: Option<String>,
}
