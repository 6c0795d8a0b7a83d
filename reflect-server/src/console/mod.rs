//! The console: pages for people, with sessions in place of keys in headers.
//!
//! A handler takes a [`Visit`](visit::Visit), which checks the session, the project and, for changes, the CSRF token;
//! asks it for the scopes of the operation that the page calls; and renders a page of `reflect-console`.

mod answer;
mod assets;
mod cookie;
mod export;
mod form;
mod keys;
mod memories;
mod open_trace;
mod report;
mod review;
mod settings;
mod sign_in;
mod traces;
mod undo;
mod visit;

use axum::Router;
use axum::middleware::from_fn;
use axum::routing::{get, post};

use crate::app::App;

/// The routes of the console.
pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/", get(sign_in::start))
        .route("/sign-in", get(sign_in::page).post(sign_in::sign_in))
        .route("/sign-in/once", get(sign_in::once))
        .route("/sign-out", post(sign_in::sign_out))
        .route("/assets/{name}", get(assets::get))
        .route("/p/{project_id}", get(sign_in::project))
        .route("/p/{project_id}/review", get(review::queue))
        .route("/p/{project_id}/review/{trace_id}", post(review::review))
        .route("/p/{project_id}/review/{trace_id}/undo", post(review::undo))
        .route("/p/{project_id}/memories", get(memories::list))
        .route("/p/{project_id}/memories/{memory_id}", get(memories::one))
        .route(
            "/p/{project_id}/memories/{memory_id}/similar",
            get(memories::similar),
        )
        .route(
            "/p/{project_id}/memories/{memory_id}/merge",
            post(memories::merge),
        )
        .route(
            "/p/{project_id}/memories/{memory_id}/edit",
            post(memories::edit),
        )
        .route(
            "/p/{project_id}/memories/{memory_id}/status",
            post(memories::status),
        )
        .route(
            "/p/{project_id}/memories/{memory_id}/delete",
            post(memories::delete),
        )
        .route("/p/{project_id}/export", get(export::download))
        .route("/p/{project_id}/report", get(report::page))
        .route("/p/{project_id}/keys", get(keys::list).post(keys::create))
        .route("/p/{project_id}/keys/{key_id}/revoke", post(keys::revoke))
        .route("/p/{project_id}/undo", get(undo::preview).post(undo::undo))
        .route(
            "/p/{project_id}/settings",
            get(settings::page).post(settings::update),
        )
        .route("/p/{project_id}/traces", get(traces::list))
        .route("/p/{project_id}/traces/{trace_id}", get(traces::one))
        .route("/p/{project_id}/traces/{trace_id}/raw", get(traces::raw))
        .route("/p/{project_id}/traces/{trace_id}/json", get(traces::json))
        .route_layer(from_fn(answer::refusals))
}
