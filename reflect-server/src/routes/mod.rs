//! The endpoints. A handler extracts, calls the engine and replies.

use axum::Router;
use axum::body::Body;
use axum::extract::DefaultBodyLimit;
use axum::http::{Method, StatusCode, Uri};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::IntoResponse;
use axum::routing::get;
use tower_http::decompression::RequestDecompressionLayer;
use tower_http::map_request_body::MapRequestBodyLayer;
use utoipa::OpenApi as _;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::error::ApiError;
use crate::openapi::{Description, complete};
use crate::{body_budget, console, mcp, metrics, observe, otlp};

mod archive;
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
    let (api, document) = described();
    let limit = DefaultBodyLimit::max(app.settings().body_limit);
    // As the body is read, so that the size limits apply to the decompressed bytes. Other encodings are
    // left to the extractors, which refuse them.
    let gzip = RequestDecompressionLayer::new().pass_through_unaccepted(true);
    let document = axum::Json(document);
    api.route("/openapi.json", get(async move || document.clone()))
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

/// The API as an OpenAPI document.
pub fn document() -> utoipa::openapi::OpenApi {
    described().1
}

/// The endpoints and the document that describes them.
fn described() -> (Router<App>, utoipa::openapi::OpenApi) {
    let (router, mut document) = OpenApiRouter::with_openapi(Description::openapi())
        .routes(routes!(health::ready))
        .routes(routes!(health::live))
        .routes(routes!(projects::bootstrap))
        .routes(routes!(projects::list))
        .routes(routes!(projects::update, projects::delete))
        .routes(routes!(projects::stats))
        .routes(routes!(projects::report))
        .routes(routes!(memories::query))
        .routes(routes!(memories::explain))
        .routes(routes!(memories::list))
        .routes(routes!(memories::get, memories::update, memories::delete))
        .routes(routes!(memories::changes))
        .routes(routes!(archive::memories))
        .routes(routes!(archive::traces))
        .routes(routes!(archive::overview, archive::import))
        .routes(routes!(traces::create, traces::list))
        .routes(routes!(traces::delete))
        .routes(routes!(traces::get))
        .routes(routes!(
            traces::review,
            traces::change_review,
            traces::withdraw_review
        ))
        .routes(routes!(traces::review_by_key))
        .routes(routes!(traces::retry))
        .routes(routes!(undo::undo, undo::list))
        .routes(routes!(skill::get))
        .routes(routes!(skill::create))
        .routes(routes!(keys::create, keys::list))
        .routes(routes!(keys::revoke))
        .split_for_parts();
    complete(&mut document);
    (router, document)
}

async fn metrics_text(
    axum::extract::State(app): axum::extract::State<App>,
) -> Result<impl IntoResponse, ApiError> {
    let text = app.metrics().text(app.engine()).await;
    let text = text.map_err(ApiError::internal)?;
    let header = (axum::http::header::CONTENT_TYPE, metrics::CONTENT_TYPE);
    Ok((StatusCode::OK, [header], text))
}

async fn unknown_path(uri: Uri) -> ApiError {
    ApiError::not_found(format!("no endpoint at `{}`", uri.path()))
}

async fn unsupported_method(method: Method) -> ApiError {
    ApiError::method(&method)
}
