//! The Reflect engine: it records runs, learns from their reviews and ranks what it learned.

pub mod clock;
mod error;
pub mod learn;
pub mod model;
mod record;
pub mod store;

pub use error::{Error, Result, Source};
pub use record::{
    ListMemories, MemoryHistory, MemoryPage, MemoryRecord, Stats, TracePage, UtilityEvent,
};
