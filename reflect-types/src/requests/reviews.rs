use serde::{Deserialize, Serialize};

use super::create_trace::run_id;
use super::shapes::{about_one, sent_as_json};
use crate::Metadata;
use crate::id::TraceId;
use crate::layout::Layout;
use crate::review::Review;
use crate::validate::{InvalidField, Validate};

/// Reviews a stored trace.
#[derive(Clone, Debug, PartialEq)]
pub struct ReviewTrace {
    /// The trace to review.
    pub trace_id: TraceId,
    /// The review.
    pub review: Review,
}

/// Replaces the review of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangeReview {
    /// The reviewed trace.
    pub trace_id: TraceId,
    /// The new review.
    pub review: Review,
}

about_one! {
    /// Withdraws the review of a trace.
    WithdrawReview(
        /// The reviewed trace.
        trace_id: TraceId
    );
}

macro_rules! carries_a_review {
    ($($name:ident),+) => {$(
        impl $name {
            /// The request for this trace.
            pub fn new(trace_id: impl Into<TraceId>, review: impl Into<Review>) -> Self {
                Self { trace_id: trace_id.into(), review: review.into() }
            }
        }

        impl Validate for $name {
            fn validate(&self) -> Result<(), InvalidField> {
                self.trace_id.validate()?;
                self.review.validate()
            }
        }

        impl Layout for $name {
            fn id(&self) -> Option<&str> {
                Some(self.trace_id.as_str())
            }

            fn body(&self) -> serde_json::Result<Vec<u8>> {
                serde_json::to_vec(&self.review)
            }
        }
    )+};
}

carries_a_review!(ReviewTrace, ChangeReview);

/// Reviews the one trace that has this idempotency key or this metadata; with both, that has both.
///
/// For those who know a run by a name of their own: a test, a ticket, a button in a chat.
///
/// ```
/// use reflect_types::{Review, ReviewByKey};
///
/// let by_ticket = ReviewByKey::matching("ticket", "123", Review::fail("The customer came back"));
/// assert_eq!(
///     serde_json::to_string(&by_ticket)?,
///     r#"{"match":{"ticket":"123"},"result":"fail","feedback_text":"The customer came back"}"#
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(
    feature = "openapi",
    schema(
        description = "A review of the run with an idempotency key, with metadata, or with both."
    )
)]
pub struct ReviewByKey {
    /// The idempotency key that the run was recorded with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "openapi",
        schema(min_length = 1, max_length = 255, pattern = "^[!-~]+$")
    )]
    pub idempotency_key: Option<String>,
    /// Metadata of the run, from 1 to 10 texts, numbers or booleans. Each has to equal the run's value of that
    /// name, or be in its list. Of a run, the first 64 such values are found.
    #[serde(default, rename = "match", skip_serializing_if = "Metadata::is_empty")]
    #[cfg_attr(feature = "openapi", schema(schema_with = crate::openapi::metadata_to_match))]
    pub metadata: Metadata,
    /// The review.
    #[serde(flatten)]
    pub review: Review,
}

impl ReviewByKey {
    /// The maximum number of values in `match`.
    pub const MAX_MATCH: usize = 10;

    /// A review of the run with this idempotency key.
    pub fn new(idempotency_key: impl Into<String>, review: impl Into<Review>) -> Self {
        Self {
            idempotency_key: Some(idempotency_key.into()),
            metadata: Metadata::new(),
            review: review.into(),
        }
    }

    /// A review of the run with this value in its metadata.
    pub fn matching(
        name: impl Into<String>,
        value: impl Into<serde_json::Value>,
        review: impl Into<Review>,
    ) -> Self {
        Self {
            idempotency_key: None,
            metadata: Metadata::from_iter([(name.into(), value.into())]),
            review: review.into(),
        }
    }
}

impl Validate for ReviewByKey {
    fn validate(&self) -> Result<(), InvalidField> {
        run_id("idempotency_key", self.idempotency_key.as_deref())?;
        if self.idempotency_key.is_none() && self.metadata.is_empty() {
            return Err(InvalidField::new(
                "match",
                "is empty: give the `idempotency_key` of the run, or some of its metadata",
            ));
        }
        let count = self.metadata.len();
        if count > Self::MAX_MATCH {
            let problem = format!("must have at most {} values, got {count}", Self::MAX_MATCH);
            return Err(InvalidField::new("match", problem));
        }
        let is_scalar = |value: &serde_json::Value| {
            value.is_string() || value.is_number() || value.is_boolean()
        };
        if let Some((name, _)) = self.metadata.iter().find(|(_, value)| !is_scalar(value)) {
            let problem =
                format!("must have texts, numbers or booleans: `{name}` is another value");
            return Err(InvalidField::new("match", problem));
        }
        self.review.validate()
    }
}

sent_as_json!(ReviewByKey);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_run_is_named_by_its_key_or_by_scalars_of_its_metadata() {
        let read = |value| serde_json::from_value::<ReviewByKey>(value).unwrap();
        for fine in [
            json!({"idempotency_key": "job-7", "result": "pass"}),
            json!({"match": {"ticket": 7, "open": true, "team": "eu"}, "result": "fail"}),
            json!({"idempotency_key": "job-7", "match": {"a": "b"}, "result": "pass"}),
        ] {
            let request = read(fine);
            assert_eq!(request.validate(), Ok(()));
            let again = read(serde_json::to_value(&request).unwrap());
            assert_eq!(again, request);
        }
        let many: Metadata = (0..11).map(|n| (n.to_string(), n.into())).collect();
        for (refused, field) in [
            (json!({"result": "pass"}), "match"),
            (json!({"match": {}, "result": "pass"}), "match"),
            (json!({"match": {"a": null}, "result": "pass"}), "match"),
            (json!({"match": {"a": ["b"]}, "result": "pass"}), "match"),
            (json!({"match": many, "result": "pass"}), "match"),
            (
                json!({"idempotency_key": "a b", "result": "pass"}),
                "idempotency_key",
            ),
            (
                json!({"idempotency_key": "a", "result": "pass", "alpha": 2}),
                "alpha",
            ),
        ] {
            let invalid = read(refused.clone()).validate().unwrap_err();
            assert_eq!(invalid.field, field, "{refused}");
        }
    }
}
