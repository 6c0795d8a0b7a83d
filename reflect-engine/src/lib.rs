#![doc = include_str!("../README.md")]

mod backfill;
pub mod clock;
mod core;
mod credit;
mod embedding;
mod engine;
mod error;
mod hash;
mod hygiene;
mod id;
pub mod index;
mod ingest;
mod key_limits;
pub mod learn;
pub mod model;
pub mod rank;
mod recall;
pub mod report;
pub mod review;
mod settings;
pub mod sketch;
mod snapshot;
mod span_work;
pub mod statistics;
pub mod store;
mod task;
mod triage;

pub use engine::{Builder, EmbeddingGauge, Engine, Export, Gauges, QueueGauge};
pub use error::{Error, Result};
pub use key_limits::KeyLimits;
pub use recall::Appraisal;
pub use span_work::SpanTotals;
pub use triage::{QueuedReview, ReviewReason};
