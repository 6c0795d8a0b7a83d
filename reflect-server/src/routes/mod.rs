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
use utoipa::OpenApi as _;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};
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
    let limit = DefaultBodyLimit::max(app.settings().body_limit);
    // As the body is read, so that the size limits apply to the decompressed bytes. Other encodings are
    // left to the extractors, which refuse them.
    let gzip = RequestDecompressionLayer::new().pass_through_unaccepted(true);
    endpoints(Router::new())
        .route("/openapi.json", get(openapi))
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
    let described = endpoints(OpenApiRouter::with_openapi(Description::openapi()));
    let (_, mut document) = described.split_for_parts();
    complete(&mut document);
    document
}

/// What endpoints are added to: a router, or one that also collects the document, which takes several
/// megabytes.
trait Collect: Sized {
    fn endpoint(self, endpoint: UtoipaMethodRouter<App>) -> Self;
}

impl Collect for Router<App> {
    fn endpoint(self, (_, described, methods): UtoipaMethodRouter<App>) -> Self {
        let paths = described.paths.keys();
        paths.fold(self, |router, path| router.route(path, methods.clone()))
    }
}

impl Collect for OpenApiRouter<App> {
    fn endpoint(self, endpoint: UtoipaMethodRouter<App>) -> Self {
        self.routes(endpoint)
    }
}

fn endpoints<C: Collect>(collected: C) -> C {
    collected
        .endpoint(routes!(health::ready))
        .endpoint(routes!(health::live))
        .endpoint(routes!(projects::bootstrap))
        .endpoint(routes!(projects::list))
        .endpoint(routes!(projects::update, projects::delete))
        .endpoint(routes!(projects::settings))
        .endpoint(routes!(projects::stats))
        .endpoint(routes!(projects::report))
        .endpoint(routes!(memories::query))
        .endpoint(routes!(memories::explain))
        .endpoint(routes!(memories::list))
        .endpoint(routes!(memories::get, memories::update, memories::delete))
        .endpoint(routes!(memories::changes))
        .endpoint(routes!(archive::memories))
        .endpoint(routes!(archive::traces))
        .endpoint(routes!(archive::overview, archive::import))
        .endpoint(routes!(traces::create, traces::list))
        .endpoint(routes!(traces::delete))
        .endpoint(routes!(traces::get))
        .endpoint(routes!(
            traces::review,
            traces::change_review,
            traces::withdraw_review
        ))
        .endpoint(routes!(traces::review_by_key))
        .endpoint(routes!(traces::retry))
        .endpoint(routes!(undo::undo, undo::list))
        .endpoint(routes!(skill::get))
        .endpoint(routes!(skill::create))
        .endpoint(routes!(keys::create, keys::list))
        .endpoint(routes!(keys::revoke))
}

async fn openapi() -> impl IntoResponse {
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
