use async_trait::async_trait;
use jiff::Timestamp;
use reflect_types::{
    ArchivedMemory, ArchivedTrace, MemoryId, ProjectId, Skill, TraceId, UndoRecord,
};

use super::Undecoded;
use crate::error::Result;

/// Export and import of projects.
#[async_trait]
pub trait Archive {
    /// A page of traces for an archive, in the order of insertion, after the trace `after`. Fails
    /// with [`Error::Invalid`](crate::Error::Invalid) if `after` names no trace, and with
    /// [`Error::NoProject`](crate::Error::NoProject) without a project.
    async fn archived_traces(
        &self,
        project: &ProjectId,
        after: Option<&TraceId>,
        limit: usize,
    ) -> Result<Vec<ArchivedTrace>> {
        let traces = self.archived_traces_json(project, after, limit).await?;
        traces.into_iter().map(Undecoded::decode).collect()
    }

    /// Like [`archived_traces`](Self::archived_traces), the long fields undecoded.
    async fn archived_traces_json(
        &self,
        project: &ProjectId,
        after: Option<&TraceId>,
        limit: usize,
    ) -> Result<Vec<Undecoded<ArchivedTrace>>>;

    /// A page of memories for an archive, in the order of insertion, after the memory `after`.
    /// Fails like [`archived_traces`](Self::archived_traces).
    async fn archived_memories(
        &self,
        project: &ProjectId,
        after: Option<&MemoryId>,
        limit: usize,
    ) -> Result<Vec<ArchivedMemory>>;

    /// Inserts pieces of an archive under their ids, without those the project has, and queues
    /// unfinished reviews for `now`. Returns how many were inserted. Fails with
    /// [`Error::NoProject`](crate::Error::NoProject) if the project does not exist and may not be
    /// created.
    async fn restore(
        &self,
        project: &ProjectId,
        creates_project: bool,
        pieces: Vec<EmbeddedPiece>,
        now: Timestamp,
    ) -> Result<u64>;
}

/// A piece of an archive, with the vector that the importing engine made for it.
#[derive(Clone, Debug, PartialEq)]
pub enum EmbeddedPiece {
    /// A trace and its review.
    Trace(Box<ArchivedTrace>),
    /// A memory and its events.
    Memory {
        /// The memory.
        memory: Box<ArchivedMemory>,
        /// The embedder of the vector.
        embedder: String,
        /// The vector of the memory's task.
        vector: Vec<f32>,
    },
    /// The project's skill.
    Skill(Skill),
    /// The record of an undo.
    Undo(Box<UndoRecord>),
}
