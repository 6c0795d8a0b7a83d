use serde::{Deserialize, Serialize};

use crate::validate::InvalidField;
use crate::wire_enum::wire_enum;

wire_enum! {
    /// The reason of an error reply, for programs.
    pub enum ErrorCode {
        /// The body is not JSON.
        MalformedJson = "malformed_json",
        /// A field is missing, of the wrong type or out of range.
        InvalidField = "invalid_field",
        /// The key is missing, unknown, revoked or expired.
        Unauthorized = "unauthorized",
        /// The key lacks the scope, or has no access to the project.
        Forbidden = "forbidden",
        /// Not found.
        NotFound = "not_found",
        /// The request conflicts with what is stored, such as a second, different verdict.
        Conflict = "conflict",
        /// The body is over the size limit.
        TooLarge = "too_large",
        /// The body is in an encoding or of a type that the server does not read.
        UnsupportedMediaType = "unsupported_media_type",
        /// The path does not support the method.
        MethodNotAllowed = "method_not_allowed",
        /// Too many requests; `Retry-After` has the delay.
        RateLimited = "rate_limited",
        /// The server is shutting down, or the store or a model is unavailable. Nothing was done, except
        /// that a review is kept if the text says so. Retry later.
        Unavailable = "unavailable",
        /// The server's model refuses the request, or returns nothing usable.
        ModelFailed = "model_failed",
        /// Timed out; the request may still be carried out.
        Timeout = "timeout",
        /// An internal error or a full disk; the server's log has the details.
        Internal = "internal",
    }
}

impl ErrorCode {
    /// The HTTP status of the code; 500 for an unknown one.
    pub fn status(&self) -> u16 {
        match self {
            Self::MalformedJson => 400,
            Self::Unauthorized => 401,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::MethodNotAllowed => 405,
            Self::Conflict => 409,
            Self::TooLarge => 413,
            Self::UnsupportedMediaType => 415,
            Self::InvalidField => 422,
            Self::RateLimited => 429,
            Self::ModelFailed => 502,
            Self::Unavailable => 503,
            Self::Timeout => 504,
            Self::Internal | Self::Other(_) => 500,
        }
    }
}

/// The body of an error reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ErrorBody {
    /// What is wrong and what to do, for people.
    pub detail: String,
    /// The reason, for programs.
    pub code: ErrorCode,
    /// The invalid field, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
}

impl ErrorBody {
    /// An error that is not about one field.
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
