//! Why a query was answered as it was.

use serde::{Deserialize, Serialize};

use crate::id::MemoryId;
use crate::ranking::Ranking;
use crate::wire_enum::wire_enum;

/// The numbers behind a query's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Explanation {
    /// How the memories were ranked.
    pub ranking: Ranking,
    /// The cosine similarity below which memories were left out. If neither the query nor the server
    /// sets one, memories that reviews show to help whatever the task may be below it.
    pub floor: f64,
    /// The number of the project's memories with a vector of the server's embedder.
    pub considered: usize,
    /// The number of those without one, which the answer lacks: they were learned with another embedder, and wait to
    /// be embedded.
    #[serde(default)]
    pub unembedded: u64,
    /// Up to 1,000 memories with their numbers: the answer in its order, then the others by score.
    pub memories: Vec<ExplainedMemory>,
}

impl Explanation {
    /// The largest number of explained memories.
    pub const MAX_MEMORIES: usize = 1_000;
}

/// A memory with its numbers and its place in the answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ExplainedMemory {
    /// The memory's id.
    pub id: MemoryId,
    /// The memory's task.
    pub task: String,
    /// The cosine similarity with the query's task.
    pub similarity: f64,
    /// The memory's utility.
    pub q_value: f64,
    /// What it is ranked by.
    pub score: f64,
    /// What its runs say about it; `None` by the classic ranking.
    pub evidence: Option<Evidence>,
    /// The number of reviewed runs that were given it, with tasks like the query's.
    #[serde(default)]
    pub similar_runs: u32,
    /// How many of them passed.
    #[serde(default)]
    pub similar_passed: u32,
    /// The score with the diversity penalty; `None` if the memory did not reach that step.
    pub mmr: Option<f64>,
    /// The place in the answer, from 1.
    pub rank: Option<usize>,
    /// Why the memory is not in the answer.
    pub dropped: Option<Dropped>,
}

/// What the reviewed runs that were given a memory say about it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Evidence {
    /// The number of reviewed runs that were given it.
    pub runs: u32,
    /// How many of them passed.
    pub passed: u32,
    /// How likely it hurts, whatever the task.
    pub hurts: f64,
    /// How likely it helps, whatever the task.
    pub helps: f64,
    /// How likely it helps with tasks like its own only.
    pub helps_if_similar: f64,
}

wire_enum! {
    /// Why a memory is not in an answer.
    pub enum Dropped {
        /// The metadata does not match the filter.
        Metadata = "metadata",
        /// The vector differs from the query's in dimensions, or one of the two is not finite.
        Incomparable = "incomparable",
        /// The similarity is below the floor.
        Floor = "floor",
        /// Reviews say that it would do more harm than good.
        Harm = "harm",
        /// The pool was full of better scores.
        Pool = "pool",
        /// The score would have sufficed, but the memory is too similar to the chosen ones.
        Variety = "variety",
        /// The limit was reached with better ones.
        Limit = "limit",
    }
}
