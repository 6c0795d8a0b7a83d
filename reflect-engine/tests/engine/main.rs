//! What the engine promises its callers.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::float_cmp,
    reason = "a failure ends the run"
)]

#[path = "../common/mod.rs"]
mod common;

mod archive;
mod embedders;
mod hostile_text;
mod hygiene;
mod hygiene_histories;
mod ingestion;
mod judging;
mod learned_ranking;
mod merging;
mod recall;
mod replay;
mod reviewers;
mod reviews;
mod skills;
mod staging;
mod traces;
