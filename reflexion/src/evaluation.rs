use serde::{Deserialize, Serialize};

/// What an [`Evaluator`](super::Evaluator) says of a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Evaluation {
    /// Whether the task is done.
    pub success: bool,
    /// How well, where the evaluator can say: higher is better. Never NaN or infinite in an
    /// [`Outcome`](super::Outcome).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// What was wrong, or right; empty where there is nothing to say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub feedback: String,
    /// Whether the verdict could not be read from the evaluator's reply, so that the failure is
    /// only supposed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unclear: bool,
    /// The model that judged, where its review is to be told from a person's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<String>,
    /// How far the review moves the memories, where that is not left to the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
}

impl Evaluation {
    /// The task is done.
    pub fn pass() -> Self {
        Self {
            success: true,
            ..Self::default()
        }
    }

    /// The task is not done; `feedback` says what is wrong.
    pub fn fail(feedback: impl Into<String>) -> Self {
        Self::default().feedback(feedback)
    }

    /// Sets how well the task is done; a score that is no finite number is no score.
    #[must_use]
    pub fn score(mut self, score: f64) -> Self {
        self.score = Some(score);
        self.checked()
    }

    /// Sets what was wrong, or right.
    #[must_use]
    pub fn feedback(mut self, feedback: impl Into<String>) -> Self {
        self.feedback = feedback.into();
        self
    }

    /// Says that a model judged, and how far its review moves the memories, from 0 to 1.
    #[must_use]
    pub fn judged_by(mut self, judge: impl Into<String>, alpha: f64) -> Self {
        self.judge = Some(judge.into());
        self.alpha = Some(alpha);
        self
    }

    /// The evaluation without a score that cannot be compared.
    pub(super) fn checked(mut self) -> Self {
        self.score = self.score.filter(|score| score.is_finite());
        self
    }
}

/// A bare yes or no, without feedback.
impl From<bool> for Evaluation {
    fn from(success: bool) -> Self {
        Self {
            success,
            ..Self::default()
        }
    }
}
