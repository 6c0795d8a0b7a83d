//! The `reflect` program as a process: servers, commands and their exit codes.

#![expect(clippy::unwrap_used, reason = "a test may")]
#![cfg(unix)]

mod bundle;
mod demo;
mod doctor;
mod eval;
mod import_from;
mod judge_limits;
mod junit;
mod keys;
mod lifecycle;
mod lists;
mod managed;
mod mcp;
mod migrate;
mod models;
mod outage;
mod postgres;
mod review;
mod secrets;
mod support;
mod tls;
mod usage;
