use serde::ser::SerializeMap as _;
use serde::{Deserialize, Serialize, Serializer};

use crate::id::{KeyId, TraceId};
use crate::reflection::AuthoredReflection;
use crate::reviewer::{ModelVerdict, Reviewer};
use crate::validate::{InvalidField, Validate, at_most, within};
use crate::verdict::Verdict;
use crate::wire_enum::wire_enum;

/// A review of a run.
///
/// ```
/// use reflect_types::Review;
///
/// let review = Review::fail("Missed the revenue decline in Q3").alpha(0.5);
/// assert_eq!(
///     serde_json::to_string(&review)?,
///     r#"{"result":"fail","feedback_text":"Missed the revenue decline in Q3","alpha":0.5}"#
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(description = "A review of a run."))]
pub struct Review {
    /// Pass or fail.
    #[cfg_attr(feature = "openapi", schema(schema_with = crate::openapi::verdict_to_give))]
    pub result: Verdict,
    /// What was wrong (or right); it shapes the reflection, so be specific.
    #[cfg_attr(feature = "openapi", schema(max_length = 32768))]
    pub feedback_text: Option<String>,
    /// How far the retrieved memories move, from 0 to 1; absent leaves it to the server (0.3, or 0.1 for a
    /// program's review).
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 1))]
    pub alpha: Option<f64>,
    /// A reflection written by the caller, to be stored instead of a generated one.
    pub reflection: Option<AuthoredReflection>,
    /// Who gives the review; absent for a person.
    #[serde(default)]
    pub reviewer: Reviewer,
}

impl Review {
    /// The default learning rate.
    pub const DEFAULT_ALPHA: f64 = 0.3;
    /// The learning rate of a model's or a program's review that sets none.
    pub const JUDGE_ALPHA: f64 = 0.1;
    /// The maximum length of the feedback, in characters.
    pub const MAX_FEEDBACK: usize = 32_768;

    /// A person's review without feedback.
    pub fn new(result: Verdict) -> Self {
        Self {
            result,
            feedback_text: None,
            alpha: None,
            reflection: None,
            reviewer: Reviewer::Human,
        }
    }

    /// A person's passing review.
    pub fn pass() -> Self {
        Self::new(Verdict::Pass)
    }

    /// A person's failing review with feedback.
    pub fn fail(feedback: impl Into<String>) -> Self {
        Self::new(Verdict::Fail).feedback(feedback)
    }

    /// Says what was wrong, or right.
    #[must_use]
    pub fn feedback(mut self, text: impl Into<String>) -> Self {
        self.feedback_text = Some(text.into());
        self
    }

    /// Sets how far the retrieved memories move, from 0 to 1.
    #[must_use]
    pub fn alpha(mut self, alpha: f64) -> Self {
        self.alpha = Some(alpha);
        self
    }

    /// Sets who gives the review.
    #[must_use]
    pub fn reviewer(mut self, reviewer: Reviewer) -> Self {
        self.reviewer = reviewer;
        self
    }

    /// Names the model that gives this review. Its learning rate becomes [`Review::JUDGE_ALPHA`],
    /// unless it is set.
    ///
    /// ```
    /// use reflect_types::{Review, Reviewer};
    ///
    /// let review = Review::fail("The total is wrong").judged_by("gpt-5.4-mini");
    /// assert_eq!(review.reviewer, Reviewer::Model("gpt-5.4-mini".to_owned()));
    /// assert_eq!(review.alpha, Some(0.1));
    /// ```
    #[must_use]
    pub fn judged_by(mut self, model: &str) -> Self {
        self.reviewer = Reviewer::model(model);
        self.alpha = self.alpha.or(Some(Self::JUDGE_ALPHA));
        self
    }
}

impl From<Verdict> for Review {
    fn from(result: Verdict) -> Self {
        Self::new(result)
    }
}

impl Validate for Review {
    fn validate(&self) -> Result<(), InvalidField> {
        if self.result == Verdict::Unknown {
            return Err(InvalidField::new("result", "must be `pass` or `fail`"));
        }
        self.alpha
            .map_or(Ok(()), |alpha| within("alpha", alpha, 0.0..=1.0))?;
        let feedback = self.feedback_text.as_deref().unwrap_or_default();
        at_most("feedback_text", feedback, Self::MAX_FEEDBACK)?;
        self.reviewer.validate()?;
        self.reflection.as_ref().map_or(Ok(()), Validate::validate)
    }
}

// By hand, because `feedback_text` is sent even when null, except beside an authored reflection.
impl Serialize for Review {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut review = to.serialize_map(None)?;
        review.serialize_entry("result", &self.result)?;
        if self.reflection.is_none() || self.feedback_text.is_some() {
            review.serialize_entry("feedback_text", &self.feedback_text)?;
        }
        if let Some(alpha) = &self.alpha {
            review.serialize_entry("alpha", alpha)?;
        }
        if let Some(reflection) = &self.reflection {
            review.serialize_entry("reflection", reflection)?;
        }
        if self.reviewer != Reviewer::Human {
            review.serialize_entry("reviewer", &self.reviewer)?;
        }
        review.end()
    }
}

wire_enum! {
    /// When a review was given.
    #[derive(Default)]
    pub enum ReviewMode {
        /// Together with the trace.
        Inline = "inline",
        /// Later.
        #[default]
        Deferred = "deferred",
    }
}

/// The stored review of a trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReviewRecord {
    /// Names the review.
    pub id: String,
    /// The run it judges.
    pub trace_id: TraceId,
    /// Pass or fail.
    pub result: Verdict,
    /// The feedback.
    pub feedback_text: Option<String>,
    /// Given with the trace, or later.
    #[serde(default)]
    pub mode: ReviewMode,
    /// Who gave the review; `None` in a reply of a server that does not tell.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Reviewer))]
    pub reviewer: Option<Reviewer>,
    /// The API key that the review was given with.
    pub key_id: Option<KeyId>,
    /// The verdict of a model that this person's review replaced.
    pub overruled: Option<ModelVerdict>,
}

impl ReviewRecord {
    /// The model that gave the review; `None` if a person or a program did.
    pub fn model(&self) -> Option<&str> {
        self.reviewer.as_ref()?.model_name()
    }

    /// Whether neither a model nor a program gave the review.
    pub fn is_by_person(&self) -> bool {
        !matches!(self.reviewer, Some(Reviewer::Model(_) | Reviewer::Program))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_verdict_is_read_but_never_sent() {
        let review: Review = serde_json::from_str(r#"{"result": "partial"}"#).unwrap();
        assert_eq!(review.result, Verdict::Unknown);
        assert_eq!(review.validate().unwrap_err().field, "result");
    }

    #[test]
    fn a_review_names_its_reviewer_unless_it_is_a_person() {
        let person = serde_json::to_value(Review::pass()).unwrap();
        assert!(person.get("reviewer").is_none());
        let model = serde_json::to_value(Review::pass().judged_by("m")).unwrap();
        assert_eq!(model["reviewer"], serde_json::json!({"model": "m"}));
        let read: Review = serde_json::from_value(person).unwrap();
        assert_eq!(read.reviewer, Reviewer::Human);
        let read: Review = serde_json::from_value(model).unwrap();
        assert_eq!(read, Review::pass().judged_by("m"));
    }

    #[test]
    fn a_mode_of_tomorrow_round_trips() {
        let mode: ReviewMode = serde_json::from_str(r#""automatic""#).unwrap();
        assert_eq!(serde_json::to_string(&mode).unwrap(), r#""automatic""#);
    }

    #[test]
    fn alpha_outside_its_range_is_refused() {
        assert_eq!(
            Review::pass()
                .alpha(1.01)
                .validate()
                .unwrap_err()
                .to_string(),
            "`alpha` must be from 0 to 1, got 1.01"
        );
    }
}
