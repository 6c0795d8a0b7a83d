//! The files that pages load.

use axum::extract::Path;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use reflect_console::assets;

use crate::error::ApiError;

pub(super) async fn get(Path(name): Path<String>) -> Result<Response, ApiError> {
    let asset = assets::find(&name)
        .ok_or_else(|| ApiError::not_found(format!("the console has no file `{name}`")))?;
    let headers = [
        (CONTENT_TYPE, asset.media_type),
        // Its address changes with its contents.
        (CACHE_CONTROL, "public, max-age=31536000, immutable"),
    ];
    Ok((StatusCode::OK, headers, asset.contents).into_response())
}
