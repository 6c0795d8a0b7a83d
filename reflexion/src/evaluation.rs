use std::future::Future;

use serde::{Deserialize, Serialize};

use crate::erased::{BoxError, part};
use crate::trajectory::Trajectory;

/// The verdict of an [`Evaluator`](crate::Evaluator) on a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Evaluation {
    /// Whether the task is done.
    pub success: bool,
    /// The score, if the evaluator gives one; higher is better. Always finite in an
    /// [`Outcome`](crate::Outcome).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// What is wrong, or right; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub feedback: String,
    /// Whether the evaluator's reply held no clear verdict. Such a trial counts as failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unclear: bool,
    /// The model that judged, to tell its review from a person's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<String>,
    /// How far the review moves the retrieved memories, from 0 to 1; `None` leaves it to the
    /// server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
}

impl Evaluation {
    /// The task is done.
    pub fn pass() -> Self {
        true.into()
    }

    /// The task is not done; `feedback` names what is wrong.
    pub fn fail(feedback: impl Into<String>) -> Self {
        Self::default().feedback(feedback)
    }

    /// Sets the score. A score that is not finite is dropped.
    #[must_use]
    pub fn score(mut self, score: f64) -> Self {
        self.score = Some(score);
        self.checked()
    }

    /// Sets the feedback.
    #[must_use]
    pub fn feedback(mut self, feedback: impl Into<String>) -> Self {
        self.feedback = feedback.into();
        self
    }

    /// Sets the model that judged, and how far its review moves the memories, from 0 to 1.
    #[must_use]
    pub fn judged_by(mut self, judge: impl Into<String>, alpha: f64) -> Self {
        self.judge = Some(judge.into());
        self.alpha = Some(alpha);
        self
    }

    /// Drops a score that cannot be compared.
    pub(crate) fn checked(mut self) -> Self {
        self.score = self.score.filter(|score| score.is_finite());
        self
    }
}

/// A verdict without feedback.
impl From<bool> for Evaluation {
    fn from(success: bool) -> Self {
        Self {
            success,
            ..Self::default()
        }
    }
}

/// Decides whether a trial did the task.
///
/// Any closure `Fn(Trajectory) -> Future` whose output is a `bool`, an [`Evaluation`] or a `Result`
/// of either is an evaluator. For a closure that is not async, see
/// [`evaluate_with`](crate::ReflexionBuilder::evaluate_with).
pub trait Evaluator: Send + Sync + 'static {
    /// Evaluates a trial. An `Err` ends the run; the error holds the answer.
    fn evaluate(
        &self,
        trial: Trajectory,
    ) -> impl Future<Output = Result<Evaluation, BoxError>> + Send;
}

part! {
    /// A type-erased [`Evaluator`] that is cheap to clone.
    SharedEvaluator, DynEvaluator for Evaluator: evaluate(Trajectory) -> Evaluation
}
