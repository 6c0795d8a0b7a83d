use serde::{Deserialize, Serialize};

use crate::validate::InvalidField;
use crate::wire_enum::wire_enum;

wire_enum! {
    /// Why a request was refused, for programs.
    pub enum ErrorCode {
        /// The body is not JSON.
        MalformedJson = "malformed_json",
        /// A field is missing, of the wrong type or out of range.
        InvalidField = "invalid_field",
        /// No key, or one that is unknown or revoked.
        Unauthorized = "unauthorized",
        /// A known key that may not do this, or not in this project.
        Forbidden = "forbidden",
        /// There is no such thing.
        NotFound = "not_found",
        /// The request contradicts what is stored, such as a second, different verdict.
        Conflict = "conflict",
        /// The body is over the size limit.
        TooLarge = "too_large",
        /// The path exists, but not for this method.
        MethodNotAllowed = "method_not_allowed",
        /// Too many requests; `Retry-After` says when to come back.
        RateLimited = "rate_limited",
        /// Shutting down, or the store or a model is away: nothing was done, except that a review is
        /// kept where the text says so; try again.
        Unavailable = "unavailable",
        /// The model behind the server is of no use: it refuses, or answers nothing that can be used.
        ModelFailed = "model_failed",
        /// It took too long; what was begun may still be done.
        Timeout = "timeout",
        /// A defect or a full disk; the server's log has the details.
        Internal = "internal",
    }
}

impl ErrorCode {
    /// The HTTP status that goes with the code; 500 for one this version does not know.
    pub fn status(&self) -> u16 {
        match self {
            Self::MalformedJson => 400,
            Self::Unauthorized => 401,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::MethodNotAllowed => 405,
            Self::Conflict => 409,
            Self::TooLarge => 413,
            Self::InvalidField => 422,
            Self::RateLimited => 429,
            Self::ModelFailed => 502,
            Self::Unavailable => 503,
            Self::Timeout => 504,
            Self::Internal | Self::Other(_) => 500,
        }
    }
}

/// The body of every refusal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ErrorBody {
    /// A sentence for a person: what is wrong and what to do.
    pub detail: String,
    /// The same for a program.
    pub code: ErrorCode,
    /// The field it is about, where one is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
}

impl ErrorBody {
    /// A refusal that is not about one field.
    pub fn new(code: ErrorCode, detail: impl Into<String>) -> Self {
        Self {
            detail: detail.into(),
            code,
            field: None,
        }
    }
}

impl From<InvalidField> for ErrorBody {
    fn from(invalid: InvalidField) -> Self {
        Self {
            detail: invalid.to_string(),
            code: ErrorCode::InvalidField,
            field: Some(invalid.field.to_owned()),
        }
    }
}
