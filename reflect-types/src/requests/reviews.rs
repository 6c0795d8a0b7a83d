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

/// Withdraws the review of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WithdrawReview {
    /// The reviewed trace.
    pub trace_id: TraceId,
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

impl WithdrawReview {
    /// The request for this trace.
    pub fn new(trace_id: impl Into<TraceId>) -> Self {
        let trace_id = trace_id.into();
        Self { trace_id }
    }
}

impl Validate for WithdrawReview {
    fn validate(&self) -> Result<(), InvalidField> {
        self.trace_id.validate()
    }
}

impl Layout for WithdrawReview {
    fn id(&self) -> Option<&str> {
        Some(self.trace_id.as_str())
    }
}
