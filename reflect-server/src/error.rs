//! Every refusal, and the one place that chooses its status.

use axum::extract::rejection::{BytesRejection, FailedToBufferBody, PathRejection};
use axum::http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Json, http::Method};
use reflect_types::{ErrorBody, ErrorCode, InvalidField, ProjectId, Scope};

/// A request that was not carried out.
#[derive(Debug)]
pub struct ApiError(Box<Refusal>);

#[derive(Debug)]
struct Refusal {
    status: StatusCode,
    body: ErrorBody,
    header: Option<(HeaderName, HeaderValue)>,
    /// What only the log may show.
    cause: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl ApiError {
    /// The body is not JSON.
    pub(crate) fn malformed(detail: impl Into<String>) -> Self {
        Self::new(ErrorCode::MalformedJson, detail)
    }

    /// A field is missing, of the wrong type or out of range.
    pub(crate) fn field(field: impl Into<String>, detail: impl Into<String>) -> Self {
        let mut error = Self::new(ErrorCode::InvalidField, detail);
        error.0.body.field = Some(field.into());
        error
    }

    /// No key, or none that opens anything.
    pub(crate) fn unauthorized(detail: impl Into<String>) -> Self {
        let challenge = HeaderValue::from_static("Bearer");
        Self::new(ErrorCode::Unauthorized, detail).with(WWW_AUTHENTICATE, challenge)
    }

    /// A key that opens nothing, or no longer.
    pub(crate) fn unknown_key() -> Self {
        Self::unauthorized("this key is not known, or was revoked: ask for a new one")
    }

    /// A good key for another project. The answer is the same whether or not there is such a
    /// project.
    pub(crate) fn other_project(project: &ProjectId) -> Self {
        Self::forbidden(format!(
            "this key does not open project `{project}`: use a key of that project"
        ))
    }

    /// A good key that may not do this.
    pub(crate) fn missing_scope(scopes: &[Scope]) -> Self {
        let names: Vec<String> = scopes.iter().map(|scope| format!("`{scope}`")).collect();
        Self::forbidden(format!(
            "this needs a key with the scope {}",
            names.join(" or ")
        ))
    }

    /// Known, but not allowed.
    pub(crate) fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(ErrorCode::Forbidden, detail)
    }

    /// There is no such thing.
    pub(crate) fn not_found(detail: impl Into<String>) -> Self {
        Self::new(ErrorCode::NotFound, detail)
    }

    /// The path exists, but not for this method.
    pub(crate) fn method(method: &Method) -> Self {
        Self::new(
            ErrorCode::MethodNotAllowed,
            format!("this path does not answer {method}"),
        )
    }

    /// The body is over the limit.
    pub(crate) fn too_large(limit: usize) -> Self {
        Self::new(
            ErrorCode::TooLarge,
            format!(
                "the body is over the limit of {limit} bytes: send less, or raise the server's limit"
            ),
        )
    }

    /// One caller asks for too much.
    pub(crate) fn rate_limited(seconds: u64) -> Self {
        Self::new(
            ErrorCode::RateLimited,
            format!("too many requests with this key: come back in {seconds} s"),
        )
        .with(RETRY_AFTER, seconds.into())
    }

    /// Everybody together asks for too much.
    pub(crate) fn overloaded() -> Self {
        Self::new(
            ErrorCode::Unavailable,
            "the server has as many requests as it takes at once: try again",
        )
    }

    /// It took too long; what was begun may still happen, so this is not a 503.
    pub(crate) fn timed_out() -> Self {
        Self::new(
            ErrorCode::Timeout,
            "this took too long; it may still be done",
        )
    }

    /// A defect.
    pub(crate) fn internal(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        let mut error = Self::new(
            ErrorCode::Internal,
            "the server failed to do this: its log has the reason beside the request id",
        );
        error.0.cause = Some(cause.into());
        error
    }

    /// The sentence for a person, for answers that are not HTTP.
    pub(crate) fn detail(&self) -> &str {
        &self.0.body.detail
    }

    /// Tells the log what the answer does not say.
    pub(crate) fn log(&self) {
        if let Some(cause) = &self.0.cause {
            let mut reasons = vec![cause.to_string()];
            let mut below = cause.source();
            while let Some(reason) = below {
                reasons.push(reason.to_string());
                below = reason.source();
            }
            tracing::error!(
                status = self.0.status.as_u16(),
                reason = reasons.join(": "),
                "failed"
            );
        }
    }

    fn new(code: ErrorCode, detail: impl Into<String>) -> Self {
        let status = StatusCode::from_u16(code.status());
        let busy = code == ErrorCode::Unavailable;
        Self(Box::new(Refusal {
            status: status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            body: ErrorBody::new(code, detail),
            header: busy.then(|| (RETRY_AFTER, HeaderValue::from_static("1"))),
            cause: None,
        }))
    }

    fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.0.header = Some((name, value));
        self
    }
}

impl From<reflect_engine::Error> for ApiError {
    fn from(error: reflect_engine::Error) -> Self {
        match error.code() {
            // Paths and the words of libraries are the operator's business.
            ErrorCode::Internal => Self::internal(error),
            code @ (ErrorCode::Unavailable | ErrorCode::ModelFailed) => {
                let mut refused = Self::new(code, error.to_string());
                if let Some(wait) = error.retry_after() {
                    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
                    refused = refused.with(RETRY_AFTER, seconds.into());
                }
                refused.0.cause = Some(error.into());
                refused
            }
            code => {
                let mut refused = Self::new(code, "");
                refused.0.body = error.body();
                refused
            }
        }
    }
}

impl From<InvalidField> for ApiError {
    fn from(invalid: InvalidField) -> Self {
        Self::field(invalid.field, invalid.to_string())
    }
}

impl From<PathRejection> for ApiError {
    fn from(_: PathRejection) -> Self {
        Self::not_found("the path is not valid UTF-8 where it is percent-encoded")
    }
}

impl ApiError {
    /// What reading a body with a limit may end in.
    pub(crate) fn unread(rejection: &BytesRejection, limit: usize) -> Self {
        match rejection {
            BytesRejection::FailedToBufferBody(FailedToBufferBody::LengthLimitError(_)) => {
                Self::too_large(limit)
            }
            other => Self::malformed(format!("the body cannot be read: {other}")),
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        self.log();
        let refusal = *self.0;
        let mut response = (refusal.status, Json(refusal.body)).into_response();
        if let Some((name, value)) = refusal.header {
            response.headers_mut().insert(name, value);
        }
        response
    }
}
