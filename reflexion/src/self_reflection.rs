use std::future::Future;

use serde::{Deserialize, Serialize};

use crate::erased::{BoxError, part};
use crate::evaluation::Evaluation;
use crate::trajectory::Trajectory;

/// Writes what a failed trial teaches.
///
/// Any closure `Fn(FailedTrial) -> Future` whose output is a `String`, a `&str` or a `Result` of
/// either is a self-reflection. For a closure that is not async, see
/// [`reflect_with`](crate::ReflexionBuilder::reflect_with).
pub trait SelfReflection: Send + Sync + 'static {
    /// Returns the note for the next trial. A blank text, or a bare verdict such as "FAILURE", is
    /// replaced by the evaluator's feedback.
    fn reflect(&self, failed: FailedTrial)
    -> impl Future<Output = Result<String, BoxError>> + Send;
}

/// The input of a [`SelfReflection`]: a failed trial and the reflections before it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FailedTrial {
    /// The trial.
    pub trajectory: Trajectory,
    /// The verdict on it.
    pub evaluation: Evaluation,
    /// Reflections on earlier trials, oldest first, so that the same advice is not given twice.
    pub memory: Vec<MemoryEntry>,
}

impl FailedTrial {
    /// A failed trial.
    pub fn new(
        trajectory: Trajectory,
        evaluation: Evaluation,
        memory: impl IntoIterator<Item = MemoryEntry>,
    ) -> Self {
        Self {
            trajectory,
            evaluation,
            memory: memory.into_iter().collect(),
        }
    }
}

part! {
    /// A type-erased [`SelfReflection`] that is cheap to clone.
    SharedSelfReflection, DynSelfReflection for SelfReflection: reflect(FailedTrial) -> String
}

/// A [`SelfReflection`] without a model: the evaluator's feedback.
#[derive(Clone, Copy, Debug, Default)]
pub struct FeedbackReflection;

impl SelfReflection for FeedbackReflection {
    async fn reflect(&self, failed: FailedTrial) -> Result<String, BoxError> {
        Ok(failed.evaluation.feedback)
    }
}

/// The reflection on one failed trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryEntry {
    /// The trial's number in its run, from 1.
    pub trial: u32,
    /// The reflection.
    pub reflection: String,
}
