//! The Reflect engine: it records runs, learns from their reviews and ranks what it learned.

pub mod index;
pub mod model;
pub mod rank;
