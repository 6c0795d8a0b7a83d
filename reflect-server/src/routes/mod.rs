//! Where each endpoint lives. A handler extracts, calls and answers.

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{Method, StatusCode, Uri};
use axum::middleware::from_fn_with_state;
use axum::response::IntoResponse;
use axum::routing::get;
use utoipa::OpenApi as _;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::error::ApiError;
use crate::openapi::{Description, complete};
use crate::{mcp, metrics, observe};

mod archive;
mod keys;
mod memories;
mod paging;
mod projects;
mod skill;
mod traces;

pub(crate) use archive::PAGE as ARCHIVE_PAGE;

/// The whole service as one router.
pub fn router(app: App) -> Router {
    let (api, document) = described();
    let limit = DefaultBodyLimit::max(app.settings().body_limit);
    let document = axum::Json(document);
    api.route("/openapi.json", get(async move || document.clone()))
        .route("/metrics", get(measured))
        .merge(mcp::routes(&app))
        .fallback(no_such_path)
        .method_not_allowed_fallback(no_such_method)
        .layer(limit)
        .layer(from_fn_with_state(app.clone(), observe::request))
        .with_state(app)
}

/// The endpoints, and the document that describes them.
pub(crate) fn described() -> (Router<App>, utoipa::openapi::OpenApi) {
    let (router, mut document) = OpenApiRouter::with_openapi(Description::openapi())
        .routes(routes!(projects::health))
        .routes(routes!(projects::bootstrap))
        .routes(routes!(projects::delete))
        .routes(routes!(projects::stats))
        .routes(routes!(memories::query))
        .routes(routes!(memories::list))
        .routes(routes!(memories::get))
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
        .routes(routes!(traces::retry))
        .routes(routes!(skill::get))
        .routes(routes!(skill::create))
        .routes(routes!(keys::create, keys::list))
        .routes(routes!(keys::revoke))
        .split_for_parts();
    complete(&mut document);
    (router, document)
}

async fn measured(
    axum::extract::State(app): axum::extract::State<App>,
) -> Result<impl IntoResponse, ApiError> {
    let text = app.metrics().text().map_err(ApiError::internal)?;
    let header = (axum::http::header::CONTENT_TYPE, metrics::CONTENT_TYPE);
    Ok((StatusCode::OK, [header], text))
}

async fn no_such_path(uri: Uri) -> ApiError {
    ApiError::not_found(format!("there is nothing at `{}`", uri.path()))
}

async fn no_such_method(method: Method) -> ApiError {
    ApiError::method(&method)
}
