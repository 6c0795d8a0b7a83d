//! Request ID, access log, metrics, concurrency limit and timeout middleware.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{CACHE_CONTROL, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tracing::Instrument as _;
use uuid::Uuid;

use crate::app::App;
use crate::connection_table::ConnectionPlace;
use crate::error::ApiError;
use crate::unread_body::UnreadBody;

/// The header of the request ID, in requests and replies.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Assigns the request ID, counts the request and logs its status. Bodies and keys are not logged.
pub(crate) async fn request(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = request_id(&request);
    request.headers_mut().insert(REQUEST_ID, id.clone());
    let method = known_method(&request);
    // The pattern, not the path, which contains the project.
    let route = request.extensions().get::<MatchedPath>().cloned();
    let route = route.as_ref().map_or("unknown", MatchedPath::as_str);
    let span = tracing::info_span!(
        "request",
        id = id.to_str().unwrap_or_default(),
        method,
        route,
        key = tracing::field::Empty,
    );
    let unread = UnreadBody::of(&mut request);
    let place = request.extensions().get::<Arc<ConnectionPlace>>().cloned();
    let in_flight = app.metrics().enter();
    let mut response = bounded(&app, route, request, next)
        .instrument(span.clone())
        .await;
    drop(in_flight);

    let (status, took) = (response.status().as_u16(), started.elapsed());
    app.metrics().answered(method, route, status, took);
    let ms = (took.as_secs_f64() * 1e6).round() / 1e3;
    span.in_scope(|| tracing::info!(status, ms, "answered"));
    let headers = response.headers_mut();
    headers.insert(REQUEST_ID, id);
    // Replies have runs and keys in them.
    for (name, value) in [
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (CACHE_CONTROL, "no-store"),
    ] {
        let value = HeaderValue::from_static(value);
        headers.entry(name).or_insert(value);
    }
    if !response.status().is_success() {
        // A client that sends no body must not keep others out: nothing is lost with its connection.
        let _idle = place.as_ref().map(ConnectionPlace::idle);
        unread.discard().await;
    }
    response
}

/// Routes that an overloaded server still serves: monitoring needs them most then.
const UNLIMITED_ROUTES: [&str; 3] = ["/health", "/health/live", "/metrics"];

/// Runs the request within the concurrency limit and the timeout.
async fn bounded(app: &App, route: &str, request: Request, next: Next) -> Response {
    let slot = app.slots().try_acquire();
    if slot.is_err() && !UNLIMITED_ROUTES.contains(&route) {
        return ApiError::overloaded().into_response();
    }
    let timeout = app.settings().request_timeout;
    match tokio::time::timeout(timeout, next.run(request)).await {
        Ok(response) => response,
        Err(_) => ApiError::timed_out().into_response(),
    }
}

/// The client's request ID if it is short and printable, or a new one.
fn request_id(request: &Request) -> HeaderValue {
    const MAX_LENGTH: usize = 128;

    let given = request.headers().get(REQUEST_ID).filter(|value| {
        let bytes = value.as_bytes();
        (1..=MAX_LENGTH).contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_graphic)
    });
    given.cloned().unwrap_or_else(|| {
        let id = Uuid::now_v7().to_string();
        HeaderValue::from_str(&id).unwrap_or(HeaderValue::from_static("-"))
    })
}

/// The method as a metrics label: unknown methods share one.
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
