//! Which memories' tasks are most similar to a query, for projects whose vectors no index holds.

use async_trait::async_trait;
use reflect_types::ProjectId;

use super::{MemoryKey, VectorSpace};
use crate::error::Result;

/// The memories of a project with the most similar tasks.
#[derive(Clone, Debug, PartialEq)]
pub struct Nearest {
    /// The memories and their similarities, the most similar first.
    pub memories: Vec<(MemoryKey, f64)>,
    /// A similarity that no other memory exceeds; `None` if there are no others.
    pub others: Option<f64>,
    /// How far each of these numbers may be from the exact cosine similarity.
    pub margin: f64,
}

impl Nearest {
    /// Before anything is known.
    pub fn unknown() -> Self {
        Self {
            memories: Vec::new(),
            others: Some(1.0),
            margin: 0.0,
        }
    }
}

/// Proposes candidates for queries. A store that does not leaves that to an index in memory, whatever room
/// it takes.
#[async_trait]
pub trait Proposals {
    /// Whether [`nearest`](Self::nearest) proposes anything.
    fn proposes(&self) -> bool {
        false
    }

    /// Up to `count` memories of the project with vectors of this space that are nearest to the probe,
    /// whatever their status. It has about `of` memories, which may help to find them but not which.
    async fn nearest(
        &self,
        _project: &ProjectId,
        _space: &VectorSpace,
        _probe: &[f32],
        _count: usize,
        _of: usize,
    ) -> Result<Nearest> {
        Ok(Nearest::unknown())
    }
}
