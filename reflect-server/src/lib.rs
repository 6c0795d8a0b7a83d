#![doc = include_str!("../README.md")]

mod access;
mod app;
mod body_budget;
mod client_address;
mod connection_table;
mod connections;
mod console;
mod decoded_budget;
mod described;
mod error;
mod extract;
mod failed_attempts;
mod gauges;
mod hex;
mod judge;
mod key_grants;
pub mod keys;
pub mod mcp;
mod metrics;
mod observe;
mod openapi;
mod otlp;
mod rate;
mod readiness;
mod reply;
mod routes;
mod serve;
mod sessions;
mod stalled_write;
mod tls;
mod unread_body;

pub use app::{App, Settings};
pub use error::ApiError;
pub use ipnet::IpNet;
pub use judge::CountedJudge;
pub use routes::{document, router};
pub use serve::{serve, serve_until};
pub use tls::{Tls, TlsError};

/// The optional parts that this build has.
pub const FEATURES: &[&str] = &[
    #[cfg(feature = "postgres")]
    "postgres",
];
