#![doc = include_str!("../README.md")]

mod archive;
pub mod clock;
mod engine;
mod error;
pub mod index;
mod ingest;
pub mod learn;
pub mod model;
pub mod rank;
mod recall;
mod record;
mod reembed;
mod skill;
pub mod store;

pub use engine::{Builder, Engine};
pub use error::{Error, Result, Source};
pub use recall::{ExplainedMemory, Explanation};
pub use record::{
    ArchivedTrace, ImportReport, Judgement, ListMemories, MemoryHistory, MemoryPage, MemoryRecord,
    Overview, Piece, Stats, TracePage, UtilityEvent,
};
