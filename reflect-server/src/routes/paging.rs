use axum::http::header::LINK;
use axum::http::{HeaderMap, HeaderValue};

use crate::error::ApiError;

/// The `Link` header of the next page, if any.
pub(super) fn link(next: Option<String>) -> Result<HeaderMap, ApiError> {
    let mut headers = HeaderMap::new();
    if let Some(path) = next {
        let link = format!("<{path}>; rel=\"next\"");
        headers.insert(
            LINK,
            HeaderValue::try_from(link).map_err(ApiError::internal)?,
        );
    }
    Ok(headers)
}
