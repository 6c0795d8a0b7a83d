//! The vectors of memories: one of each embedder that is in use.

use async_trait::async_trait;
use jiff::Timestamp;
use reflect_types::ProjectId;

use super::{Claims, Lease, MemoryKey, ProjectRow};
use crate::error::Result;

/// The space of an embedder's vectors. Vectors of different spaces are never compared.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VectorSpace {
    /// The id of the embedder.
    pub embedder: String,
    /// The length of its vectors. A model may change it and keep its name. 0 stands for any: it is not known
    /// before the first answer.
    pub dims: usize,
}

impl VectorSpace {
    /// The space of an embedder's vectors of this length.
    pub fn new(embedder: impl Into<String>, dims: usize) -> Self {
        let embedder = embedder.into();
        Self { embedder, dims }
    }

    /// Whether vectors of the other space are of this one.
    pub fn includes(&self, other: &Self) -> bool {
        self.embedder == other.embedder && (self.dims == 0 || self.dims == other.dims)
    }
}

/// An embedder that a store has vectors of, or that an engine has announced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownEmbedder {
    /// The space of its vectors.
    pub space: VectorSpace,
    /// When an engine with it was last there.
    pub seen_at: Timestamp,
    /// When all memories had a vector of it for the first time; `None` while it is building.
    pub completed_at: Option<Timestamp>,
}

/// A memory without a vector of an embedder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnembeddedMemory {
    /// The key of its project.
    pub project: i64,
    /// The memory.
    pub key: MemoryKey,
    /// The text to embed.
    pub task: String,
}

impl UnembeddedMemory {
    /// Where the memory is.
    pub fn row(&self) -> ProjectRow {
        ProjectRow {
            project: self.project,
            key: self.key,
        }
    }
}

/// Vectors that no engine uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnusedVectors {
    /// Their space.
    pub space: VectorSpace,
    /// No engine with it was there since. One that came back meanwhile keeps its vectors.
    pub unseen_since: Timestamp,
    /// The space in whose favour they go: a memory without a vector of this one keeps what it has.
    pub kept: VectorSpace,
}

/// Stores the vectors of memories by embedder, and which embedders there are.
///
/// Every memory has a vector of the embedder that it was learned with. Engines with other embedders add theirs.
/// A change of a memory's task deletes those of the old one.
#[async_trait]
pub trait Vectors {
    /// The vectors of these memories, in any order, without those that are deleted or have no vector
    /// of the space.
    async fn vectors(
        &self,
        project: &ProjectId,
        space: &VectorSpace,
        keys: &[MemoryKey],
    ) -> Result<Vec<(MemoryKey, Vec<f32>)>>;

    /// All embedders, in the order in which they came.
    async fn embedders(&self) -> Result<Vec<KnownEmbedder>>;

    /// Notes that an engine with this embedder is there and, if `complete`, that all memories have a vector of
    /// it. Without dimensions, that holds for all spaces of the embedder, and none is added.
    async fn announce_embedder(
        &self,
        space: &VectorSpace,
        complete: bool,
        now: Timestamp,
    ) -> Result<()>;

    /// Memories of any project without a vector of this space, by project, in the order of their keys.
    async fn unembedded(
        &self,
        space: &VectorSpace,
        after: ProjectRow,
        limit: usize,
    ) -> Result<Vec<UnembeddedMemory>>;

    /// The number of all memories without a vector of this space, or of those of a project that would otherwise be
    /// in answers.
    async fn count_unembedded(
        &self,
        space: &VectorSpace,
        project: Option<&ProjectId>,
    ) -> Result<u64>;

    /// Adds vectors, or replaces those of the same space. Memories that were deleted or got another task meanwhile
    /// are skipped.
    async fn set_vectors(
        &self,
        space: &VectorSpace,
        vectors: Vec<(UnembeddedMemory, Vec<f32>)>,
        now: Timestamp,
    ) -> Result<()>;

    /// Deletes up to `limit` unused vectors, of memories after this one, and with the last of them the embedder.
    /// Returns the memory to go on after; `None` at the end.
    async fn delete_unused_vectors(
        &self,
        unused: &UnusedVectors,
        after: ProjectRow,
        limit: usize,
    ) -> Result<Option<ProjectRow>>;

    /// Queues the re-embedding of memories for an embedder, unless it is queued.
    /// `restart` ends the back-off of earlier failures.
    async fn queue_reembedding(&self, embedder: &str, now: Timestamp, restart: bool) -> Result<()>;

    /// Claims the re-embedding for an embedder, if it is due.
    async fn claim_reembedding(
        &self,
        embedder: &str,
        now: Timestamp,
        lease: &Lease,
    ) -> Result<Claims>;
}
