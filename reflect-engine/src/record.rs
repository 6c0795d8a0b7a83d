//! Pages of the engine's lists. What travels is defined in `reflect-types`.

pub use reflect_types::{
    ArchivedTrace, ImportReport, Judgement, ListMemories, MemoryHistory, MemoryRecord, Overview,
    Piece, Stats, UtilityEvent,
};
use reflect_types::{MemoryId, Trace, TraceId};

/// A page of memories, each with its moves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemoryPage {
    /// The memories, newest first.
    pub memories: Vec<MemoryHistory>,
    /// What to ask for as `before` to get the next page; `None` on the last one.
    pub next: Option<MemoryId>,
}

/// A page of traces.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TracePage {
    /// The traces, newest first.
    pub traces: Vec<Trace>,
    /// What to ask for as `before` to get the next page; `None` on the last one.
    pub next: Option<TraceId>,
}
