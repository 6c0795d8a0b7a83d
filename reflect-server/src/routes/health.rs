use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::response::{IntoResponse as _, Response};
use reflect_types::{ErrorBody, ErrorCode, Health};
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;

/// The reply of a server that is not ready.
#[derive(Debug, Serialize, ToSchema)]
struct Unready {
    #[schema(example = "unavailable")]
    status: &'static str,
    /// Why, and what to do.
    reason: String,
    #[serde(flatten)]
    error: ErrorBody,
}

/// Whether the server is ready: it can store runs. The check is a write, about every ten seconds at most. `embedder` is
/// `building` until all memories are embedded with the server's embedder, and then `active`; queries are answered from
/// those that are.
#[utoipa::path(
    get, path = "/health", operation_id = "health",
    responses(
        (status = 200, body = Health),
        (status = 405, description = "The path does not support this method", body = ErrorBody),
        (status = 503, description = "The store cannot be written", body = Unready,
            headers(("Retry-After" = u64, description = "Seconds to wait"))),
        (status = 504, description = "Timed out", body = ErrorBody),
    )
)]
pub(super) async fn ready(State(app): State<App>) -> Response {
    match app.readiness().check(app.engine()).await {
        Ok(()) => Json(app.engine().health()).into_response(),
        Err(reason) => {
            let unready = Unready {
                status: "unavailable",
                error: ErrorBody::new(ErrorCode::Unavailable, reason.as_str()),
                reason,
            };
            let wait = [(RETRY_AFTER, "1")];
            (StatusCode::SERVICE_UNAVAILABLE, wait, Json(unready)).into_response()
        }
    }
}

/// Whether the process is alive, also if it is not ready.
#[utoipa::path(
    get, path = "/health/live", operation_id = "live",
    responses(
        (status = 200, body = Health),
        (status = 405, description = "The path does not support this method", body = ErrorBody),
        (status = 504, description = "Timed out", body = ErrorBody),
    )
)]
pub(super) async fn live(State(app): State<App>) -> Json<Health> {
    Json(app.engine().health())
}
