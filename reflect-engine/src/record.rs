//! What the engine tells beyond the wire contract, for consoles and command lines.

use reflect_types::{InvalidField, Memory, MemoryId, Metadata, Trace, TraceId, Validate};
use serde::{Deserialize, Serialize};

use crate::model::Reflection;

/// A memory as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MemoryRecord {
    /// Names the memory.
    pub id: MemoryId,
    /// The run it was learned from; that run may have been deleted since.
    pub trace_id: TraceId,
    /// The task of that run.
    pub task: String,
    /// What was learned.
    #[serde(flatten)]
    pub reflection: Reflection,
    /// Whether that run passed.
    pub success: bool,
    /// Its proven utility.
    pub q_value: f64,
    /// How many reviewed runs were given it.
    pub uses: u64,
    /// What the trace said of itself.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub metadata: Metadata,
    /// When it was learned, in RFC 3339.
    pub created_at: String,
}

impl MemoryRecord {
    /// The memory as a query answers it.
    pub fn into_memory(self, similarity: f64, score: f64) -> Memory {
        Memory {
            id: self.id,
            task: self.task,
            reflection: self.reflection.text(),
            q_value: self.q_value,
            similarity,
            score,
            success: Some(self.success),
            summary: self.reflection.summary,
            key_mistake: self.reflection.key_mistake,
            correct_action: self.reflection.correct_action,
            applicable_tools: self.reflection.applicable_tools,
            guidance: self.reflection.guidance,
            tools_used: self.reflection.tools_used,
        }
    }
}

/// One change of one memory's utility, with its cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UtilityEvent {
    /// The memory that moved.
    pub memory_id: MemoryId,
    /// The run that was given it; that run may have been deleted since.
    pub trace_id: TraceId,
    /// The review that moved it.
    pub review_id: String,
    /// How far it moved.
    pub alpha: f64,
    /// Towards what: 1 for a pass, 0 for a fail.
    pub reward: f64,
    /// The utility before.
    pub before: f64,
    /// The utility after.
    pub after: f64,
    /// When, in RFC 3339.
    pub created_at: String,
}

/// A memory and all that ever moved it, oldest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MemoryHistory {
    /// The memory.
    #[serde(flatten)]
    pub memory: MemoryRecord,
    /// Its moves.
    pub events: Vec<UtilityEvent>,
}

/// Which memories to list, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListMemories {
    /// How many at the most, from 1 to 1,000; absent means 100.
    #[serde(default)]
    pub limit: Option<u32>,
    /// Only those older than this one: the last of the page before.
    #[serde(default)]
    pub before: Option<MemoryId>,
}

impl ListMemories {
    /// How many memories a page holds when nothing is said.
    pub const DEFAULT_LIMIT: u32 = 100;
    /// The most memories a page may hold.
    pub const MAX_LIMIT: u32 = 1_000;
}

impl Validate for ListMemories {
    fn validate(&self) -> Result<(), InvalidField> {
        match self.limit {
            Some(limit) if !(1..=Self::MAX_LIMIT).contains(&limit) => Err(InvalidField::new(
                "limit",
                format!("must be from 1 to {}, got {limit}", Self::MAX_LIMIT),
            )),
            _ => Ok(()),
        }
    }
}

/// A page of memories, each with its moves.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
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

/// A project in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Stats {
    /// Recorded runs.
    pub traces: u64,
    /// Those of them that wait for a review.
    pub pending: u64,
    /// Those whose review passed them.
    pub passed: u64,
    /// Those whose review failed them.
    pub failed: u64,
    /// Reviews that wait to be worked on, or are being worked on.
    pub queued: u64,
    /// Reviews whose work was given up.
    pub ingest_failed: u64,
    /// Memories.
    pub memories: u64,
    /// Memories that a reviewed run was given at least once.
    pub used_memories: u64,
    /// Changes of a utility.
    pub events: u64,
}
