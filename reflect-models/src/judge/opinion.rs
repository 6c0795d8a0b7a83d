use reflect_types::{Review, Verdict};
use serde::Deserialize;

use super::run::FORM;
use crate::{echoes, json, lenient, tokens};

/// The longest feedback, in tokens: it shapes reflections, and those are short.
const MAX_FEEDBACK_TOKENS: usize = 300;

/// A judge's answer about a run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Opinion {
    /// Pass or fail; `None` if the judge cannot tell.
    pub verdict: Option<Verdict>,
    /// The quality from 0 to 1, if the judge gives one.
    pub score: Option<f64>,
    /// The reason.
    pub feedback: String,
}

impl Opinion {
    /// Reads the answer to [`JudgeRun::prompt`](crate::JudgeRun::prompt); the problem with it
    /// otherwise.
    ///
    /// ```
    /// use reflect_models::Opinion;
    /// use reflect_types::Verdict;
    ///
    /// let opinion = Opinion::read(r#"{"verdict": "fail", "feedback": "No currency."}"#).unwrap();
    /// assert_eq!(opinion.verdict, Some(Verdict::Fail));
    /// assert!(Opinion::read("It looks fine.").is_err());
    /// ```
    pub fn read(answer: &str) -> Result<Self, String> {
        json::read(answer, JudgeAnswer::check).map(Self::from)
    }

    /// The review by the judge of this name; `None` without a verdict. `alpha` is the learning step.
    pub fn review(&self, judge: &str, alpha: f64) -> Option<Review> {
        let mut review = Review::new(self.verdict?).alpha(alpha);
        if !self.feedback.is_empty() {
            review = review.feedback(&self.feedback);
        }
        Some(review.judged_by(judge))
    }
}

impl From<JudgeAnswer> for Opinion {
    fn from(answer: JudgeAnswer) -> Self {
        Self {
            verdict: answer.verdict.parse().ok(),
            score: answer.score.filter(|score| (0.0..=1.0).contains(score)),
            feedback: tokens::one_line(&answer.feedback, MAX_FEEDBACK_TOKENS),
        }
    }
}

/// The JSON object that a judge writes.
#[derive(Deserialize)]
pub(super) struct JudgeAnswer {
    #[serde(default, deserialize_with = "lenient::text")]
    verdict: String,
    #[serde(default, deserialize_with = "lenient::number")]
    score: Option<f64>,
    #[serde(default, deserialize_with = "lenient::text")]
    feedback: String,
}

impl JudgeAnswer {
    /// Refuses an answer that judges nothing: a verdict needs a reason of its own, and a score on its
    /// side of 0.5. `unclear` may have any score and no reason.
    pub(super) fn check(&self) -> Result<(), String> {
        let score = self.score.filter(|score| (0.0..=1.0).contains(score));
        let contradicts = match self.verdict.trim().to_ascii_lowercase().as_str() {
            "unclear" => return Ok(()),
            "pass" => score.is_some_and(|score| score < 0.5),
            "fail" => score.is_some_and(|score| score > 0.5),
            _ => return Err("`verdict` must be \"pass\", \"fail\" or \"unclear\"".to_owned()),
        };
        if echoes(&self.feedback, FORM) {
            return Err(
                "`feedback` is empty or repeats the template: say what is right or wrong in this run"
                    .to_owned(),
            );
        }
        if contradicts {
            return Err(
                "`score` contradicts `verdict`: a pass has at least 0.5, a fail at most 0.5"
                    .to_owned(),
            );
        }
        Ok(())
    }
}
