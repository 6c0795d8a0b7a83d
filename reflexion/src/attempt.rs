use reflect_types::Memory;

use crate::id::RunId;
use crate::memory_entry::MemoryEntry;
use crate::trajectory::Trajectory;

/// The input of an [`Actor`](crate::Actor) for one trial.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Attempt {
    /// The run that the trial is part of.
    pub run_id: RunId,
    /// The trial's number, from 1.
    pub trial: u32,
    /// The task as given to [`run`](crate::Reflexion::run), without memories. Several inputs are
    /// joined by newlines.
    pub task: String,
    /// The inputs of the task.
    pub inputs: Vec<String>,
    /// Memories of earlier runs, best first; the same in every trial. See `recall` of the builder
    /// (feature `memory`).
    pub recalled: Vec<Memory>,
    /// Reflections on failed trials, oldest first, as many as the episodic memory holds.
    pub memory: Vec<MemoryEntry>,
    /// The previous trial, under [`TrialContext::LastAttempt`](crate::TrialContext::LastAttempt).
    pub previous: Option<Trajectory>,
    /// The prompt for the model: recalled memories, reflections, then the task or its own prompt.
    /// With nothing to recall or remember, it is the task byte for byte.
    pub prompt: String,
}
