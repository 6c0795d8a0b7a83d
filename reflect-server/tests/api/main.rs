//! The API through its router: replies, access and errors.

#![expect(clippy::unwrap_used, reason = "a test may")]

mod access;
mod bodies;
mod console;
mod document;
mod failed_attempts;
mod health;
mod hostile_text;
mod ingestion;
mod input;
mod judge;
mod key_limits;
mod keys;
mod limits;
mod managed;
mod master_key;
mod mcp;
mod otlp;
mod pages;
mod reviewers;
mod sdk;
mod shutdown;
mod support;
mod tls;
mod traces;
mod undo;
