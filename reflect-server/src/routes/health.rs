use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::response::{IntoResponse as _, Response};
use reflect_types::{ErrorBody, ErrorCode, Health};
use serde::Serialize;

use crate::app::App;

/// The reply of a server that is not ready.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Unready {
    #[schema(example = "unavailable")]
    status: &'static str,
    /// Why, and what to do.
    reason: String,
    #[serde(flatten)]
    error: ErrorBody,
}

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

pub(super) async fn live(State(app): State<App>) -> Json<Health> {
    Json(app.engine().health())
}
