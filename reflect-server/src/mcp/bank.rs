//! What the tools work on.

use std::fmt;

use async_trait::async_trait;
use reflect_types::{
    CreateTrace, IngestStatus, Memory, MemoryId, QueryMemories, Review, Skill, Trace, TraceId,
};

/// The memories of one project, with the rights of one caller.
///
/// A review whose `alpha` is over a limit gets that limit: the tools have no `alpha` that an agent
/// could lower. An error is the text that the agent reads.
#[async_trait]
pub trait Bank: fmt::Debug + Send + Sync {
    /// The memories that rank best for a task.
    async fn query(&self, query: QueryMemories) -> Result<Vec<Memory>, String>;

    /// Stores a run.
    async fn record(&self, run: CreateTrace) -> Result<Recorded, String>;

    /// Reviews a stored run.
    async fn review(&self, run: &TraceId, review: Review) -> Result<Trace, String>;

    /// The project's skill; `None` before the first one is written.
    async fn skill(&self) -> Result<Option<Skill>, String>;
}

/// A stored run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Its id.
    pub trace_id: TraceId,
    /// How far it is processed.
    pub ingest_status: IngestStatus,
    /// The memory that was made from it, if that has happened already and the caller may know.
    pub memory_id: Option<MemoryId>,
}
