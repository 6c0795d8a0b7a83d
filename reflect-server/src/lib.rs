#![doc = include_str!("../README.md")]

mod access;
mod app;
mod connections;
mod error;
mod extract;
mod judge;
pub mod keys;
mod mcp;
mod metrics;
mod observe;
mod openapi;
mod rate;
mod routes;
mod serve;

pub use app::{App, Settings};
pub use error::ApiError;
pub use judge::CountedJudge;
pub use routes::{document, router};
pub use serve::{serve, serve_until};
