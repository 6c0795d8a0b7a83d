//! Authentication of MCP requests.

use std::sync::Arc;

use axum::Json;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{Method, StatusCode};
use reflect_types::{ErrorBody, ErrorCode};
use rmcp::model::ClientJsonRpcMessage;

use super::bank::Bank;
use super::keyed_bank::KeyedBank;
use crate::access::{caller, named_project};
use crate::app::App;
use crate::error::ApiError;
use crate::extract;

/// Authenticates the caller and gives the tools its bank, that of a project: the header's, the key's,
/// or `default`.
pub(super) async fn enter(
    State(app): State<App>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let (mut parts, body) = request.into_parts();
    let caller = caller(&parts, &app).await?;
    let project = named_project(&caller, &parts.headers)?;
    let bank: Arc<dyn Bank> = Arc::new(KeyedBank {
        app: app.clone(),
        caller,
        project,
    });
    parts.extensions.insert(bank);
    // Read here, so that a malformed body gets the same errors as on other endpoints.
    let head = parts.clone();
    let body = extract::read(Request::from_parts(parts, body), &app).await?;
    if head.method == Method::POST {
        serde_json::from_slice::<ClientJsonRpcMessage>(&body).map_err(|error| {
            ApiError::malformed(format!("the body is not one JSON-RPC message: {error}"))
        })?;
    }
    let reply = next.run(Request::from_parts(head, body.into())).await;
    Ok(as_usual_error(reply).await)
}

/// The service's own refusals, such as of an origin, are plain text: they become the usual errors.
async fn as_usual_error(reply: Response) -> Response {
    /// Longer than any of those texts.
    const LIMIT: usize = 4096;

    let status = reply.status();
    if !status.is_client_error() || reply.headers().contains_key(CONTENT_TYPE) {
        return reply;
    }
    let (mut parts, body) = reply.into_parts();
    let text = to_bytes(body, LIMIT).await.unwrap_or_default();
    let code = match status {
        StatusCode::FORBIDDEN => ErrorCode::Forbidden,
        StatusCode::NOT_FOUND => ErrorCode::NotFound,
        StatusCode::METHOD_NOT_ALLOWED => ErrorCode::MethodNotAllowed,
        StatusCode::UNSUPPORTED_MEDIA_TYPE => ErrorCode::UnsupportedMediaType,
        _ => ErrorCode::InvalidField,
    };
    let error = Json(ErrorBody::new(code, String::from_utf8_lossy(&text)));
    parts.headers.remove(CONTENT_LENGTH);
    (parts, error).into_response()
}
