//! The numbers behind a query's answer.

use std::collections::HashMap;
use std::sync::Arc;

use reflect_types::{Memory, MemoryId, Metadata, ProjectId, QueryMemories, neutral};
use serde::Serialize;

use super::catch_up::PAGE;
use super::probe::probe;
use crate::core::Core;
use crate::error::Result;
use crate::rank::{self, Candidate, Dropped, Params};
use crate::store::{MemoryChange, MemoryKey, Revision};
use crate::task::compute;

/// The numbers behind a query's answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// The cosine similarity below which memories were left out.
    pub floor: f64,
    /// The number of the project's memories with a vector of this embedder.
    pub considered: usize,
    /// Up to [`MAX_MEMORIES`](Self::MAX_MEMORIES) memories with their numbers: the answer in its
    /// order, then the others by score.
    pub memories: Vec<ExplainedMemory>,
}

impl Explanation {
    /// The largest number of explained memories.
    pub const MAX_MEMORIES: usize = 1_000;
}

/// A memory with its numbers and its place in the answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExplainedMemory {
    /// The memory's id.
    pub id: MemoryId,
    /// The memory's task.
    pub task: String,
    /// The cosine similarity with the query's task.
    pub similarity: f64,
    /// The memory's utility.
    pub q_value: f64,
    /// The blend of similarity and utility.
    pub score: f64,
    /// The score with the diversity penalty; `None` if the memory did not reach that step.
    pub mmr: Option<f64>,
    /// The place in the answer, from 1.
    pub rank: Option<usize>,
    /// Why the memory is not in the answer.
    pub dropped: Option<Dropped>,
}

/// Ranks every memory of the project and keeps the numbers.
pub(crate) async fn explain(
    core: &Arc<Core>,
    project: &ProjectId,
    query: &QueryMemories,
) -> Result<Explanation> {
    let probe = probe(core, &query.task).await?;
    let all = all_memories(core, project).await?;
    let considered = all.len();
    let params = Params::new(query, core.floor);
    let filter = query.metadata_filter.clone();
    let mut explained = compute(move || {
        let candidates: Vec<_> = all.values().map(IndexedMemory::candidate).collect();
        rank::explain(&probe, &candidates, &params, filter.as_ref())
    })
    .await?;
    explained.truncate(Explanation::MAX_MEMORIES);
    let keys: Vec<_> = explained.iter().map(|memory| memory.key).collect();
    let records = core.store.memories(project, &keys).await?;
    let mut records: HashMap<_, _> = records.into_iter().collect();
    let memories = explained.into_iter().filter_map(|memory| {
        let record = records.remove(&memory.key)?.neutral();
        Some(ExplainedMemory {
            id: record.id,
            task: neutral::excerpt(&record.task, Memory::MAX_TASK).into_owned(),
            similarity: memory.similarity,
            q_value: memory.q,
            score: memory.score,
            mmr: memory.mmr,
            rank: memory.rank,
            dropped: memory.dropped,
        })
    });
    Ok(Explanation {
        floor: params.floor,
        considered,
        memories: memories.collect(),
    })
}

/// A memory as the ranking sees it.
struct IndexedMemory {
    key: MemoryKey,
    vector: Vec<f32>,
    q: f64,
    metadata: Metadata,
}

impl IndexedMemory {
    fn candidate(&self) -> Candidate<'_> {
        Candidate {
            key: self.key,
            vector: &self.vector,
            q: self.q,
            metadata: Some(&self.metadata),
        }
    }
}

/// All memories with a vector of this embedder, read from the store and not from the index.
async fn all_memories(
    core: &Core,
    project: &ProjectId,
) -> Result<HashMap<MemoryKey, IndexedMemory>> {
    core.claim_embedder().await?;
    let mut all = HashMap::new();
    let mut since = Revision::default();
    loop {
        let embedder = core.embedder.id();
        let changes = core
            .store
            .memory_changes(project, embedder, since, PAGE)
            .await?;
        core.ensure_same_embedder(changes.embedder.as_deref())?;
        if changes.reset {
            all.clear();
        }
        for change in changes.changes {
            match change {
                MemoryChange::Put {
                    key,
                    vector,
                    q,
                    metadata,
                } => {
                    let memory = IndexedMemory {
                        key,
                        vector,
                        q,
                        metadata,
                    };
                    all.insert(key, memory);
                }
                MemoryChange::Gone(key) => {
                    all.remove(&key);
                }
            }
        }
        since = changes.revision;
        if !changes.more {
            return Ok(all);
        }
    }
}
