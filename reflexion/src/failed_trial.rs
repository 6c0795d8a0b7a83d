use std::borrow::Cow;

use crate::episodic::MemoryEntry;
use crate::evaluation::Evaluation;
use crate::trajectory::Trajectory;

/// The input of a [`SelfReflection`](crate::SelfReflection): a failed trial and the reflections
/// before it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FailedTrial<'a> {
    /// The trial.
    pub trajectory: Cow<'a, Trajectory>,
    /// The verdict on it.
    pub evaluation: Cow<'a, Evaluation>,
    /// Reflections on earlier trials, oldest first, so that the same advice is not given twice.
    pub memory: Cow<'a, [MemoryEntry]>,
}

impl<'a> FailedTrial<'a> {
    /// A failed trial with borrowed fields.
    pub fn new(
        trajectory: &'a Trajectory,
        evaluation: &'a Evaluation,
        memory: &'a [MemoryEntry],
    ) -> Self {
        Self {
            trajectory: Cow::Borrowed(trajectory),
            evaluation: Cow::Borrowed(evaluation),
            memory: Cow::Borrowed(memory),
        }
    }

    /// Clones the borrowed fields.
    pub fn into_owned(self) -> FailedTrial<'static> {
        FailedTrial {
            trajectory: Cow::Owned(self.trajectory.into_owned()),
            evaluation: Cow::Owned(self.evaluation.into_owned()),
            memory: Cow::Owned(self.memory.into_owned()),
        }
    }
}
