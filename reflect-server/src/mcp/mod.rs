//! The Model Context Protocol: tools, prompts and the skill, at `/mcp` and over standard input and output.

mod arguments;
mod bank;
mod entry;
mod keyed_bank;
mod prompts;
mod skill;
mod stdio;
mod tools;

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

pub use self::bank::{Bank, Recorded};
pub use self::stdio::serve_stdio;
use self::tools::Tools;
use crate::app::App;

/// The endpoint. It is stateless, so any server behind a load balancer can reply.
pub(crate) fn routes(app: &App) -> Router<App> {
    let settings = app.settings();
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(settings.body_limit)
        .with_allowed_hosts(settings.allowed_hosts.iter())
        .with_allowed_origins(settings.allowed_origins.iter())
        .enforce_origin_validation();
    let service = StreamableHttpService::new(
        || Ok(Tools::of_each_request()),
        Arc::new(NeverSessionManager::default()),
        config,
    );
    Router::new()
        .route_service("/mcp", service)
        .route_layer(from_fn_with_state(app.clone(), entry::enter))
}
