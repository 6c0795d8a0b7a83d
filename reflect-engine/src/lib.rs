#![doc = include_str!("../README.md")]

pub mod clock;
mod core;
mod engine;
mod error;
mod hash;
mod id;
pub mod index;
mod jobs;
mod key_limits;
pub mod learn;
pub mod model;
pub mod rank;
mod recall;
pub mod report;
pub mod review;
pub mod statistics;
pub mod store;
mod task;

pub use core::SpanTotals;
pub use engine::{Builder, EmbeddingGauge, Engine, Export, Gauges, QueueGauge, QueuedReview};
pub use error::{Error, Result};
pub use key_limits::KeyLimits;
pub use learn::ReviewReason;
pub use recall::Appraisal;

// The name of a room that has moved, for files that still use it.
pub(crate) use learn::sketch;
