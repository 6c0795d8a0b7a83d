use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::id::{KeyId, TraceId};
use crate::reflection::AuthoredReflection;
use crate::reviewer::{ModelVerdict, Reviewer, with_note, without_note};
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
#[serde(remote = "Self")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(description = "A review of a run."))]
pub struct Review {
    /// Pass or fail.
    #[cfg_attr(feature = "openapi", schema(schema_with = crate::openapi::verdict_to_give))]
    pub result: Verdict,
    /// What was wrong (or right); it shapes the reflection, so be specific. On the wire, that of a
    /// model begins with `[judge <model>]`, for servers that do not know `reviewer`.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(max_length = 32768))]
    pub feedback_text: Option<String>,
    /// How far the retrieved memories move, from 0 to 1; absent leaves it to the server (0.3).
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 1))]
    pub alpha: Option<f64>,
    /// A reflection written by the caller, to be stored instead of a generated one.
    #[serde(default)]
    pub reflection: Option<AuthoredReflection>,
    /// Who gives the review; absent for a person.
    #[serde(default)]
    pub reviewer: Reviewer,
}

impl Review {
    /// The default learning rate.
    pub const DEFAULT_ALPHA: f64 = 0.3;
    /// The maximum length of the feedback, in characters.
    pub const MAX_FEEDBACK: usize = 32_768;

    /// A review without feedback.
    pub fn new(result: Verdict) -> Self {
        Self {
            result,
            feedback_text: None,
            alpha: None,
            reflection: None,
            reviewer: Reviewer::Human,
        }
    }

    /// A passing review.
    pub fn pass() -> Self {
        Self::new(Verdict::Pass)
    }

    /// A failing review with feedback.
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

impl<'de> Deserialize<'de> for Review {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut review = Self::deserialize(from)?;
        let text = review.feedback_text.as_deref();
        let note = review.reviewer.note();
        // Only that of the model itself: other text is a reviewer's own.
        if let Some(text) = note.and_then(|note| without_note(&note, text?)) {
            review.feedback_text = Some(text.to_owned()).filter(|text| !text.is_empty());
        }
        Ok(review)
    }
}

// By hand, because `feedback_text` is sent even when null, except beside an authored reflection.
impl Serialize for Review {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let text = self.feedback_text.as_deref();
        let noted = self.reviewer.note().map(|note| with_note(note, text));
        let text = noted.as_deref().or(text);
        let feedback = self.reflection.is_none() || text.is_some();
        let fields = 1
            + usize::from(feedback)
            + usize::from(self.alpha.is_some())
            + usize::from(self.reflection.is_some())
            + usize::from(self.reviewer != Reviewer::Human);
        let mut review = to.serialize_struct("Review", fields)?;
        review.serialize_field("result", &self.result)?;
        if feedback {
            review.serialize_field("feedback_text", &text)?;
        }
        if let Some(alpha) = &self.alpha {
            review.serialize_field("alpha", alpha)?;
        }
        if let Some(reflection) = &self.reflection {
            review.serialize_field("reflection", reflection)?;
        }
        if self.reviewer != Reviewer::Human {
            review.serialize_field("reviewer", &self.reviewer)?;
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
    /// The feedback; prefixed with `[judge …]` if a model was involved. `comment()` is the text
    /// without the prefix.
    #[serde(default)]
    pub feedback_text: Option<String>,
    /// Given with the trace, or later.
    #[serde(default)]
    pub mode: ReviewMode,
    /// Who gave the review; `None` in a reply of a server that does not tell.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Reviewer))]
    pub reviewer: Option<Reviewer>,
    /// The API key that the review was given with.
    #[serde(default)]
    pub key_id: Option<KeyId>,
    /// The verdict of a model that this person's review replaced.
    #[serde(default)]
    pub overruled: Option<ModelVerdict>,
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
    fn a_server_without_reviewers_sees_the_model_in_the_feedback() {
        for (text, sent) in [(Some("no"), "[judge m] no"), (None, "[judge m]")] {
            let mut review = Review::new(Verdict::Fail).judged_by("m");
            review.feedback_text = text.map(str::to_owned);
            let wire = serde_json::to_value(&review).unwrap();
            assert_eq!(wire["feedback_text"], sent);
            assert_eq!(serde_json::from_value::<Review>(wire).unwrap(), review);
        }
    }

    #[test]
    fn only_the_note_of_the_reviewer_itself_is_removed() {
        for (reviewer, text) in [
            (Reviewer::Human, "[judge m] no"),
            (Reviewer::model("n"), "[judge m] no"),
            (Reviewer::model("m"), "[judge m]no"),
            (Reviewer::model("m"), "no"),
        ] {
            let wire = serde_json::json!({
                "result": "fail", "feedback_text": text, "reviewer": reviewer,
            });
            let review: Review = serde_json::from_value(wire).unwrap();
            assert_eq!(review.feedback_text.as_deref(), Some(text), "{reviewer:?}");
        }
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
