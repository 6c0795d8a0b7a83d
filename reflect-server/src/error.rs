//! API errors. Statuses are chosen only here.

use axum::extract::rejection::{BytesRejection, FailedToBufferBody, PathRejection};
use axum::http::header::{ACCEPT_ENCODING, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Json, http::Method};
use reflect_types::{ErrorBody, ErrorCode, InvalidField, ProjectId, Scope};

/// An error reply.
#[derive(Debug)]
pub struct ApiError(Box<Refusal>);

/// The message of an error reply, for the forms of other protocols: an extension of the response.
#[derive(Clone, Debug)]
pub(crate) struct ErrorDetail(pub(crate) String);

#[derive(Debug)]
struct Refusal {
    status: StatusCode,
    body: ErrorBody,
    header: Option<(HeaderName, HeaderValue)>,
    /// The cause, for the log only.
    cause: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl ApiError {
    /// Malformed JSON.
    pub(crate) fn malformed(detail: impl Into<String>) -> Self {
        Self::new(ErrorCode::MalformedJson, detail)
    }

    /// A missing field, or one of the wrong type or out of range.
    pub(crate) fn field(field: impl Into<String>, detail: impl Into<String>) -> Self {
        let mut error = Self::new(ErrorCode::InvalidField, detail);
        error.0.body.field = Some(field.into());
        error
    }

    /// No valid key.
    pub(crate) fn unauthorized(detail: impl Into<String>) -> Self {
        let challenge = HeaderValue::from_static("Bearer");
        Self::new(ErrorCode::Unauthorized, detail).with(WWW_AUTHENTICATE, challenge)
    }

    /// An unknown or revoked key.
    pub(crate) fn unknown_key() -> Self {
        Self::unauthorized("this key is unknown or revoked: ask for a new one")
    }

    /// An expired key.
    pub(crate) fn expired_key(at: &str) -> Self {
        Self::unauthorized(format!("this key expired at {at}: ask for a new one"))
    }

    /// A key that creates or revokes one with more rights than its own.
    pub(crate) fn stronger_key(action: &str, missing: &[&Scope]) -> Self {
        let names: Vec<String> = missing.iter().map(|scope| format!("`{scope}`")).collect();
        Self::forbidden(format!(
            "this key cannot {action} a key with more rights: it does not have {}",
            names.join(", ")
        ))
    }

    /// A valid key for another project. The reply does not tell whether the project exists.
    pub(crate) fn other_project(project: &ProjectId) -> Self {
        Self::forbidden(format!(
            "this key does not open project `{project}`: use a key of that project"
        ))
    }

    /// A valid key without a needed scope.
    pub(crate) fn missing_scope(scopes: &[Scope]) -> Self {
        let names: Vec<String> = scopes.iter().map(|scope| format!("`{scope}`")).collect();
        Self::forbidden(format!(
            "this needs a key with the scope {}",
            names.join(" or ")
        ))
    }

    /// A refused caller.
    pub(crate) fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(ErrorCode::Forbidden, detail)
    }

    /// Not found.
    pub(crate) fn not_found(detail: impl Into<String>) -> Self {
        Self::new(ErrorCode::NotFound, detail)
    }

    /// It contradicts what is stored.
    pub(crate) fn conflict(detail: impl Into<String>) -> Self {
        Self::new(ErrorCode::Conflict, detail)
    }

    /// An unsupported method.
    pub(crate) fn method(method: &Method) -> Self {
        Self::new(
            ErrorCode::MethodNotAllowed,
            format!("this path does not support {method}"),
        )
    }

    /// A body over the limit.
    pub(crate) fn too_large(limit: usize) -> Self {
        Self::new(
            ErrorCode::TooLarge,
            format!(
                "the body is over the limit of {limit} bytes: send less, or raise the server's limit"
            ),
        )
    }

    /// A body in an encoding other than gzip.
    pub(crate) fn unsupported_encoding(encoding: &HeaderValue) -> Self {
        let encoding = String::from_utf8_lossy(encoding.as_bytes()).into_owned();
        Self::new(
            ErrorCode::UnsupportedMediaType,
            format!(
                "the server cannot read a body with `Content-Encoding: {encoding}`: use gzip, or none"
            ),
        )
        .with(ACCEPT_ENCODING, HeaderValue::from_static("gzip"))
    }

    /// An OTLP request in another encoding than the two of the protocol.
    pub(crate) fn unsupported_otlp() -> Self {
        Self::new(
            ErrorCode::UnsupportedMediaType,
            "send OTLP with `Content-Type: application/x-protobuf` or `application/json`",
        )
    }

    /// An OTLP request that would need too much memory.
    pub(crate) fn too_many_spans() -> Self {
        Self::new(
            ErrorCode::TooLarge,
            "the request has too many spans, attributes or events: export fewer at a time",
        )
    }

    /// A caller over its rate limit.
    pub(crate) fn rate_limited(seconds: u64) -> Self {
        Self::new(
            ErrorCode::RateLimited,
            format!("too many requests with this key: retry in {seconds} s"),
        )
        .with(RETRY_AFTER, seconds.into())
    }

    /// A key or token presented after too many wrong ones from the same address.
    pub(crate) fn too_many_failures(wait: std::time::Duration) -> Self {
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        Self::new(
            ErrorCode::RateLimited,
            format!(
                "too many wrong keys or tokens from this address: retry in {seconds} s with a valid one"
            ),
        )
        .with(RETRY_AFTER, seconds.into())
    }

    /// Too many concurrent requests.
    pub(crate) fn overloaded() -> Self {
        Self::new(
            ErrorCode::Unavailable,
            "the server is at its limit of concurrent requests: try again",
        )
    }

    /// A timeout. Not a 503, because the request may still be carried out.
    pub(crate) fn timed_out() -> Self {
        Self::new(
            ErrorCode::Timeout,
            "the request timed out; it may still be carried out",
        )
    }

    /// An internal error.
    pub(crate) fn internal(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        let mut error = Self::new(
            ErrorCode::Internal,
            "internal error: the server's log has the reason, under the request id",
        );
        error.0.cause = Some(cause.into());
        error
    }

    /// The error of one part of a request, whose others may succeed.
    pub(crate) fn into_body(self) -> ErrorBody {
        self.log();
        self.0.body
    }

    /// The message, for replies that are not HTTP.
    pub(crate) fn detail(&self) -> &str {
        &self.0.body.detail
    }

    /// The status.
    pub(crate) fn status(&self) -> StatusCode {
        self.0.status
    }

    /// The error for clients that repeat a request after a 503, and drop what got a 500.
    pub(crate) fn worth_repeating(mut self) -> Self {
        if self.0.status == StatusCode::INTERNAL_SERVER_ERROR {
            self.0.status = StatusCode::SERVICE_UNAVAILABLE;
        }
        self
    }

    /// Logs the cause.
    pub(crate) fn log(&self) {
        if let Some(cause) = &self.0.cause {
            let mut reasons = vec![cause.to_string()];
            let mut source = cause.source();
            while let Some(reason) = source {
                reasons.push(reason.to_string());
                source = reason.source();
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
            // Paths and messages of libraries are for the operator only.
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
    /// The error of reading a body with a limit.
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
        let detail = ErrorDetail(refusal.body.detail.clone());
        let mut response = (refusal.status, Json(refusal.body)).into_response();
        response.extensions_mut().insert(detail);
        if let Some((name, value)) = refusal.header {
            response.headers_mut().insert(name, value);
        }
        response
    }
}
