//! The endpoints. A handler extracts, calls the engine and replies.

use std::sync::LazyLock;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::DefaultBodyLimit;
use axum::http::{Method, StatusCode, Uri, header};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::IntoResponse;
use axum::routing::get;
use tower_http::decompression::RequestDecompressionLayer;
use tower_http::map_request_body::MapRequestBodyLayer;

pub(crate) use self::endpoints::Endpoint;
use self::endpoints::endpoints;
use crate::app::App;
use crate::error::ApiError;
use crate::{body_budget, console, mcp, metrics, observe, openapi, otlp};

mod archive;
mod endpoints;
mod health;
mod keys;
mod memories;
mod paging;
mod projects;
mod skill;
mod traces;
mod undo;

/// The service as a router.
pub fn router(app: App) -> Router {
    let limit = DefaultBodyLimit::max(app.settings().body_limit);
    // As the body is read, so that the size limits apply to the decompressed bytes. Other encodings are
    // left to the extractors, which refuse them.
    let gzip = RequestDecompressionLayer::new().pass_through_unaccepted(true);
    let endpoints = endpoints().into_iter();
    endpoints
        .fold(Router::new(), |router, endpoint| {
            router.route(endpoint.path, endpoint.handler)
        })
        .route("/openapi.json", get(document_text))
        .route("/metrics", get(metrics_text))
        .merge(mcp::routes(&app))
        .merge(otlp::routes())
        .merge(console::routes())
        .fallback(unknown_path)
        .method_not_allowed_fallback(unsupported_method)
        .layer(limit)
        .layer(from_fn_with_state(app.bodies().clone(), body_budget::count))
        .layer((gzip, MapRequestBodyLayer::new(Body::new)))
        .layer(from_fn_with_state(app.clone(), observe::request))
        .layer(from_fn(otlp::refusals))
        .with_state(app)
}

/// The API as an OpenAPI document, which takes several megabytes.
pub fn document() -> utoipa::openapi::OpenApi {
    openapi::document(endpoints())
}

async fn document_text() -> impl IntoResponse {
    /// Most servers are never asked for it.
    static DOCUMENT: LazyLock<Bytes> =
        LazyLock::new(|| serde_json::to_vec(&document()).unwrap_or_default().into());

    let header = (header::CONTENT_TYPE, "application/json");
    ([header], DOCUMENT.clone())
}

async fn metrics_text(
    axum::extract::State(app): axum::extract::State<App>,
) -> Result<impl IntoResponse, ApiError> {
    let text = app.metrics().text(app.engine()).await;
    let text = text.map_err(ApiError::internal)?;
    let header = (header::CONTENT_TYPE, metrics::CONTENT_TYPE);
    Ok((StatusCode::OK, [header], text))
}

async fn unknown_path(uri: Uri) -> ApiError {
    ApiError::not_found(format!("no endpoint at `{}`", uri.path()))
}

async fn unsupported_method(method: Method) -> ApiError {
    ApiError::method(&method)
}
