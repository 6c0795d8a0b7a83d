//! What surrounds every request: an id, a line in the log, a count, a place and a time limit.

use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tracing::Instrument as _;
use uuid::Uuid;

use crate::app::App;
use crate::error::ApiError;

/// Names a request, in and out.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Gives the request its id, counts it and logs how it ended. Bodies and keys never get here.
pub(crate) async fn request(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let id = request_id(&request);
    request.headers_mut().insert(REQUEST_ID, id.clone());
    let method = known_method(&request);
    // The pattern and not the path, which names projects.
    let route = request.extensions().get::<MatchedPath>().cloned();
    let route = route.as_ref().map_or("unknown", MatchedPath::as_str);
    let span = tracing::info_span!(
        "request",
        id = id.to_str().unwrap_or_default(),
        method,
        route,
        key = tracing::field::Empty,
    );
    let under_way = app.metrics().enter();
    let mut response = bounded(&app, route, request, next)
        .instrument(span.clone())
        .await;
    drop(under_way);

    let (status, took) = (response.status().as_u16(), begun.elapsed());
    app.metrics().answered(method, route, status, took);
    let ms = (took.as_secs_f64() * 1e6).round() / 1e3;
    span.in_scope(|| tracing::info!(status, ms, "answered"));
    response.headers_mut().insert(REQUEST_ID, id);
    response
}

/// What tells how the server is doing: asked for when it is busy above all, and done at once.
const ALWAYS: [&str; 2] = ["/health", "/metrics"];

/// Gives the request a place, if there is one, and a time to finish in.
async fn bounded(app: &App, route: &str, request: Request, next: Next) -> Response {
    let place = app.places().try_acquire();
    if place.is_err() && !ALWAYS.contains(&route) {
        return ApiError::overloaded().into_response();
    }
    let patience = app.settings().request_timeout;
    match tokio::time::timeout(patience, next.run(request)).await {
        Ok(response) => response,
        Err(_) => ApiError::timed_out().into_response(),
    }
}

/// The id that the caller gave, if a log can carry it; otherwise a new one.
fn request_id(request: &Request) -> HeaderValue {
    const LONGEST: usize = 128;

    let given = request.headers().get(REQUEST_ID).filter(|value| {
        let bytes = value.as_bytes();
        (1..=LONGEST).contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_graphic)
    });
    given.cloned().unwrap_or_else(|| {
        let id = Uuid::now_v7().to_string();
        HeaderValue::from_str(&id).unwrap_or(HeaderValue::from_static("-"))
    })
}

/// A caller may invent methods; the metrics keep to those that exist.
fn known_method(request: &Request) -> &'static str {
    match request.method().as_str() {
        "GET" => "GET",
        "POST" => "POST",
        "DELETE" => "DELETE",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "HEAD" => "HEAD",
        "OPTIONS" => "OPTIONS",
        _ => "other",
    }
}
