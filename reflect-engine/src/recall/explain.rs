//! Why a query answers what it answers.

use std::collections::HashMap;
use std::sync::Arc;

use reflect_types::{MemoryId, Metadata, ProjectId, QueryMemories};
use serde::Serialize;

use super::{PAGE, probe};
use crate::engine::core::{Core, computed};
use crate::error::Result;
use crate::rank::{self, Candidate, Dropped, Params};
use crate::store::{MemoryChange, MemoryKey, Revision};

/// Why a query answers what it answers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// The cosine similarity below which nothing counted.
    pub floor: f64,
    /// How many memories the project has in the embedder's space.
    pub considered: usize,
    /// The memories with their numbers: the answer first, in its order, then the others by score,
    /// [`Explanation::MAX_MEMORIES`] at the most.
    pub memories: Vec<ExplainedMemory>,
}

impl Explanation {
    /// The most memories that are told of.
    pub const MAX_MEMORIES: usize = 1_000;
}

/// A memory with its numbers and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExplainedMemory {
    /// The memory.
    pub id: MemoryId,
    /// Its task.
    pub task: String,
    /// The cosine similarity with the query's task.
    pub similarity: f64,
    /// Its utility.
    pub q_value: f64,
    /// The blend of both.
    pub score: f64,
    /// What it was worth when variety was looked for; `None` for what did not come that far.
    pub mmr: Option<f64>,
    /// Its place in the answer, from 1.
    pub rank: Option<usize>,
    /// Why it is not in the answer.
    pub dropped: Option<Dropped>,
}

/// Every memory of the project with its numbers.
pub(crate) async fn explain(
    core: &Arc<Core>,
    project: &ProjectId,
    query: &QueryMemories,
) -> Result<Explanation> {
    let probe = probe(core, &query.task).await?;
    let all = everything(core, project).await?;
    let considered = all.len();
    let params = Params::new(query, core.floor);
    let filter = query.metadata_filter.clone();
    let mut explained = computed(move || {
        let candidates: Vec<_> = all.values().map(Found::candidate).collect();
        rank::explain(&probe, &candidates, &params, filter.as_ref())
    })
    .await?;
    explained.truncate(Explanation::MAX_MEMORIES);
    let keys: Vec<_> = explained.iter().map(|memory| memory.key).collect();
    let records = core.store.memories(project, &keys).await?;
    let mut records: HashMap<_, _> = records.into_iter().collect();
    let memories = explained.into_iter().filter_map(|memory| {
        let record = records.remove(&memory.key)?;
        Some(ExplainedMemory {
            id: record.id,
            task: record.task,
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

/// What the ranking needs of a memory.
struct Found {
    key: MemoryKey,
    vector: Vec<f32>,
    q: f64,
    metadata: Metadata,
}

impl Found {
    fn candidate(&self) -> Candidate<'_> {
        Candidate {
            key: self.key,
            vector: &self.vector,
            q: self.q,
            metadata: Some(&self.metadata),
        }
    }
}

/// All memories in the embedder's space, read from the store: slow, and beyond doubt.
async fn everything(core: &Core, project: &ProjectId) -> Result<HashMap<MemoryKey, Found>> {
    core.claim_embedder().await?;
    let mut all = HashMap::new();
    let mut since = Revision::default();
    loop {
        let embedder = core.embedder.id();
        let changes = core
            .store
            .memory_changes(project, embedder, since, PAGE)
            .await?;
        core.same_space(changes.embedder.as_deref())?;
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
                    let memory = Found {
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
